#include "profiler_service/emulator/differential/case.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "profiler_service/emulator/differential/draft.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"

namespace sassay::emulator {
namespace {

// The parts of a value that are numbers of their own.
std::vector<double> Numbers(uint64_t bits, Number number) {
  switch (number) {
    case Number::kFloat:
      return {std::bit_cast<float>(static_cast<uint32_t>(bits))};
    case Number::kDouble:
      return {std::bit_cast<double>(bits)};
    case Number::kHalf:
      return {HalfToFloat(static_cast<uint16_t>(bits))};
    case Number::kHalfPair:
      return {HalfToFloat(static_cast<uint16_t>(bits)), HalfToFloat(static_cast<uint16_t>(bits >> 16))};
    case Number::kBf16:
      return {Bf16ToFloat(static_cast<uint16_t>(bits))};
    case Number::kBf16Pair:
      return {Bf16ToFloat(static_cast<uint16_t>(bits)), Bf16ToFloat(static_cast<uint16_t>(bits >> 16))};
    case Number::kBits:
      break;
  }
  return {};
}

// The least distance between numbers near zero: a result there may be off by its last bit.
double Tiny(Number number) {
  return number == Number::kDouble                                ? 0x1p-1022
         : number == Number::kHalf || number == Number::kHalfPair ? 0x1p-24
                                                                  : 0x1p-126;
}

bool Near(const Slot& slot, uint64_t expected, uint64_t actual) {
  if (expected == actual) return true;
  if (slot.exact() && !slot.any_nan) return false;
  const auto wanted = Numbers(expected, slot.number), got = Numbers(actual, slot.number);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i]) && std::isnan(got[i])) continue;
    if (wanted[i] == got[i]) continue;
    if (slot.exact()) return false;
    const double bound = std::max({slot.relative * std::fabs(wanted[i]), slot.absolute, Tiny(slot.number)});
    if (!(std::fabs(wanted[i] - got[i]) <= bound)) return false;
  }
  return true;
}

uint64_t ValueAt(const Case& drawn, const std::vector<uint32_t>& output, uint32_t word, const Slot& slot,
                 uint32_t thread) {
  const uint64_t low = output[word * drawn.threads + thread];
  return slot.words == 1 ? low : low | uint64_t{output[(word + 1) * drawn.threads + thread]} << 32;
}

}  // namespace

uint32_t Case::output_words() const {
  uint32_t words = 0;
  for (const Slot& slot : slots) words += slot.words;
  return words;
}

Case Draw(uint64_t seed) {
  const std::string integers = "Integer arithmetic", bits = "Bits", numbers = "Single and double precision",
                    halves = "Half precision and bfloat16", comparisons = "Comparison and selection",
                    warp = "Lanes of a warp together";
  const std::vector<std::string> conversions = {"Conversions between integers", "Conversions from integers to numbers",
                                                "Conversions from numbers to integers", "Conversions between numbers"};
  switch (seed % 20) {
    case 0:
    case 1:
      return DrawStraight(seed, "integers", {integers});
    case 2:
      return DrawStraight(seed, "bits", {bits});
    case 3:
      return DrawStraight(seed, "integers and comparisons", {integers, bits, comparisons});
    case 4:
    case 5:
    case 6:
      return DrawStraight(seed, "numbers", {numbers});
    case 7:
    case 8:
      return DrawStraight(seed, "halves", {halves});
    case 9:
    case 10:
    case 11:
      return DrawStraight(seed, "conversions", conversions);
    case 12:
      return DrawStraight(seed, "approximations", {"Approximations"});
    case 13:
      return DrawStraight(seed, "comparisons", {comparisons});
    case 14:
      return DrawStraight(seed, "warp", {warp});
    case 15:
      return DrawStraight(seed, "everything", {integers, bits, numbers, halves, comparisons, warp, conversions[3]});
    case 16:
    case 17:
      return DrawControl(seed);
    case 18:
      return DrawMemory(seed);
    default:
      return DrawMatrix(seed);
  }
}

std::string Module(const std::vector<Case>& cases) {
  std::string text = ".version 8.8\n.target sm_90a\n.address_size 64\n";
  for (const Case& drawn : cases) text += drawn.ptx;
  return text;
}

std::vector<Disagreement> Compare(const Case& drawn, const std::vector<uint32_t>& expected,
                                  const std::vector<uint32_t>& actual) {
  std::vector<Disagreement> found;
  uint32_t word = 0;
  for (size_t i = 0; i < drawn.slots.size(); ++i) {
    const Slot& slot = drawn.slots[i];
    for (uint32_t t = 0; t < drawn.threads; ++t) {
      const uint64_t wanted = ValueAt(drawn, expected, word, slot, t), got = ValueAt(drawn, actual, word, slot, t);
      if (Near(slot, wanted, got)) continue;
      found.push_back({&slot, i, t, wanted, got});
      break;
    }
    word += slot.words;
  }
  return found;
}

uint64_t Digest(const Case& drawn, const std::vector<uint32_t>& output) {
  uint64_t digest = 0xcbf29ce484222325;
  uint32_t word = 0;
  for (const Slot& slot : drawn.slots) {
    for (uint32_t t = 0; slot.exact() && t < drawn.threads; ++t) {
      uint64_t value = ValueAt(drawn, output, word, slot, t);
      for (const double number : slot.any_nan ? Numbers(value, slot.number) : std::vector<double>()) {
        if (std::isnan(number)) value = ~uint64_t{0};
      }
      digest = (digest ^ value) * 0x100000001b3;
    }
    word += slot.words;
  }
  return digest;
}

}  // namespace sassay::emulator
