// Kernels drawn from a seed, for running the same on the emulator and on a GPU.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_DIFFERENTIAL_CASE_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_DIFFERENTIAL_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sassay::emulator {

// How the bits of a result are to be read where not every bit counts.
enum class Number : uint8_t { kBits, kFloat, kDouble, kHalf, kHalfPair, kBf16, kBf16Pair };

// One result of every thread.
struct Slot {
  std::string text;    // the instruction that made it, as written
  uint32_t words = 1;  // of 32 bits
  Number number = Number::kBits;
  // Bounds of an approximation (forms.h); both zero: to the bit.
  double relative = 0, absolute = 0;
  // One NaN is as good as another: of several that f64 arithmetic is given it hands on one, and ptxas's order of the
  // operands decides which.
  bool any_nan = false;
  bool exact() const { return relative == 0 && absolute == 0; }
};

// A kernel of one block with two parameters: the address of `input`, and that of the output, which begins as zeros.
// Word w of thread t lies at index w * threads + t of either. Everything follows from the seed.
struct Case {
  uint64_t seed = 0;
  std::string kind;    // "integer", "control" …
  std::string kernel;  // its name
  std::string ptx;     // what the module needs for it, without a header
  uint32_t threads = 32;
  std::vector<uint32_t> input;
  std::vector<Slot> slots;
  uint32_t output_words() const;
};

Case Draw(uint64_t seed);

// A module of the cases' kernels, with its header.
std::string Module(const std::vector<Case>& cases);

// One value that two devices disagree about.
struct Disagreement {
  const Slot* slot = nullptr;
  size_t index = 0;  // of the slot
  uint32_t thread = 0;
  uint64_t expected = 0, actual = 0;
};

// Of each slot the first thread whose value is another, or farther away than the bounds allow.
std::vector<Disagreement> Compare(const Case& drawn, const std::vector<uint32_t>& expected,
                                  const std::vector<uint32_t>& actual);

// 64 bits that stand for all exact results.
uint64_t Digest(const Case& drawn, const std::vector<uint32_t>& output);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_DIFFERENTIAL_CASE_H_
