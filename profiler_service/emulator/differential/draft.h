// A kernel while it is being drawn: registers, values to begin with, results to keep.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_DIFFERENTIAL_DRAFT_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_DIFFERENTIAL_DRAFT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler_service/emulator/differential/case.h"

namespace sassay::emulator {

// The same numbers on every machine: splitmix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  size_t Below(size_t limit) { return static_cast<size_t>(Bits() % limit); }
  bool OneIn(size_t chances) { return Below(chances) == 0; }
  template <class T, size_t kSize>
  const T& Of(const T (&values)[kSize]) {
    return values[Below(kSize)];
  }

 private:
  uint64_t state_;
};

// Bytes of a value of this flavour (forms.h); 0 for a predicate.
uint32_t BytesOf(std::string_view flavour);
// A value to begin with: random, small, or at one of the edges where implementations differ.
uint64_t Value(std::string_view flavour, Random& random);

class Draft {
 public:
  Draft(uint64_t seed, std::string kind, uint32_t threads);

  Random& random() { return random_; }
  uint32_t threads() const { return case_.threads; }
  // A register that nobody has used.
  std::string Register(std::string_view flavour);
  // A register with a value of this flavour: one of those that stand, or one from the input.
  std::string Source(std::string_view flavour);
  // A register with a value that the input gives to each thread.
  std::string Input(std::string_view flavour);
  // Text of the kernel, of its declarations, and of what stands before the kernel.
  void Add(std::string_view line);
  void Declare(std::string_view line) { declarations_ += std::string(line) + "\n"; }
  void Before(std::string_view text) { before_ += std::string(text) + "\n"; }
  // Keeps what `name` holds now as a result. `reuse`: later instructions may take it as a source. The slot's bounds may
  // be set until the next one is kept.
  Slot& Keep(std::string_view flavour, const std::string& name, std::string text, bool reuse = true);
  std::string Label() { return "L" + std::to_string(labels_++); }
  const std::string& kernel() const { return case_.kernel; }
  // Words of the input for a thread, so far.
  uint32_t input_words() const { return input_words_; }
  // The kernel's text is put together.
  Case Finish() &&;

 private:
  Random random_;
  Case case_;
  std::map<std::string, std::vector<std::string>, std::less<>> pools_;
  std::map<std::string, uint32_t, std::less<>> counts_;
  std::string declarations_, body_, before_;
  uint32_t input_words_ = 0, output_words_ = 0, labels_ = 0;
};

// Kinds of kernels.
Case DrawStraight(uint64_t seed, const std::string& kind, const std::vector<std::string>& families);
Case DrawControl(uint64_t seed);
Case DrawMemory(uint64_t seed);
Case DrawMatrix(uint64_t seed);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_DIFFERENTIAL_DRAFT_H_
