// Operands of tcgen05.mma as its tests make them: random, laid out in shared memory, and known to the host.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_TENSOR_TILE_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_TENSOR_TILE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "profiler_service/emulator/ops/arithmetic/numeric.h"

namespace sassay::emulator {

// One operand's type: who multiplies it, code in the instruction descriptor, bits of an element, its value.
struct Kind {
  const char* kernel;
  uint32_t code;
  int bits;
  double (*value)(uint32_t);
};
inline double Half(uint32_t bits) { return HalfToFloat(static_cast<uint16_t>(bits)); }
inline double Bf16(uint32_t bits) { return Bf16ToFloat(static_cast<uint16_t>(bits)); }
inline double Tf32(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000); }
inline double E4m3(uint32_t bits) { return Decode(bits, kE4m3Format); }
inline double E5m2(uint32_t bits) { return Decode(bits, kE5m2Format); }
inline double E2m1(uint32_t bits) {
  const double magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (bits & 8) != 0 ? -magnitudes[bits & 7] : magnitudes[bits & 7];
}
inline double E3m2(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 2 & 7);
  const double magnitude = exponent == 0 ? std::ldexp(bits & 3, -4) : std::ldexp(4 + (bits & 3), exponent - 5);
  return (bits & 32) != 0 ? -magnitude : magnitude;
}
inline double S8(uint32_t bits) { return static_cast<int8_t>(bits); }
inline double U8(uint32_t bits) { return bits; }

inline constexpr Kind kF16{"multiply_f16", 0, 16, Half}, kBf16{"multiply_f16", 1, 16, Bf16},
    kTf32{"multiply_tf32", 2, 32, Tf32}, kE4m3{"multiply_f8f6f4", 0, 8, E4m3}, kE5m2{"multiply_f8f6f4", 1, 8, E5m2},
    kE3m2{"multiply_f8f6f4", 4, 6, E3m2}, kE2m1{"multiply_f8f6f4", 5, 4, E2m1}, kU8{"multiply_i8", 0, 8, U8},
    kS8{"multiply_i8", 1, 8, S8};

enum Major { kAlongK, kAlongMn };

// A random operand in a layout: swizzle modes as the descriptor numbers them.
class Tile {
 public:
  Tile(Kind kind, uint32_t mn, Major major, uint32_t mode, uint32_t seed)
      : kind_(kind), mn_(mn), k_(kind.bits < 8 ? 32 : 256 / kind.bits), major_(major), mode_(mode) {
    std::mt19937 random(seed);
    for (uint32_t i = 0; i < mn * k_; ++i) bits_.push_back(Small(random()));
  }
  uint32_t k() const { return k_; }
  double At(uint32_t mn, uint32_t k) const { return kind_.value(bits_[mn * k_ + k]); }
  uint32_t Bits(uint32_t mn, uint32_t k) const { return bits_[mn * k_ + k]; }
  uint32_t code() const { return kind_.code; }

  // Writes the operand from `start` on, a multiple of 1024, and gives its descriptor.
  uint64_t Write(std::vector<uint8_t>& image, uint32_t start) const {
    const uint32_t bytes = kind_.bits < 8 ? 1 : kind_.bits / 8;
    const uint32_t width = mode_ == 0 ? 16 : mode_ == 6 ? 32 : mode_ == 4 ? 64 : 128;
    const uint32_t deep = mode_ == 1 && major_ == kAlongMn ? 4 : 8;
    // Patterns one after the other: first along M or N, then along K.
    const uint32_t extent = major_ == kAlongK ? mn_ / 8 : mn_ * bytes / width;
    const uint32_t pattern = deep * width, row = extent * pattern;
    for (uint32_t mn = 0; mn < mn_; ++mn) {
      for (uint32_t k = 0; k < k_; ++k) {
        const uint32_t line = major_ == kAlongK ? mn : k, along = (major_ == kAlongK ? k : mn) * bytes;
        uint32_t offset = line % deep * width + along % width;
        offset += major_ == kAlongK ? line / deep * pattern + along / width * row
                                    : along / width * pattern + line / deep * row;
        const uint32_t lines = offset / 128;
        const uint32_t mask = mode_ == 2 ? 7 : mode_ == 4 ? 3 : mode_ == 6 ? 1 : 0;
        offset ^= mode_ == 1 ? lines % 4 * 32 : (lines & mask) * 16;
        Put(image, start + offset, bits_[mn * k_ + k]);
      }
    }
    // Which of the two strides goes along K differs by layout (9.7.16.5.1).
    const bool swapped = major_ == kAlongMn && mode_ != 0;
    const uint64_t leading = swapped ? pattern : row, stride = swapped ? row : pattern;
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | uint64_t{1} << 46 | uint64_t{mode_} << 61;
  }

 private:
  // Values near one, so that sums are far from overflow; all bit patterns for small types.
  uint32_t Small(uint32_t random) const {
    switch (kind_.bits) {
      case 16: {
        const float value = static_cast<float>(static_cast<int>(random % 255) - 127) / 64;
        return kind_.value(0x3f80) == 1.0 ? FloatToBf16(value) : FloatToHalf(value);
      }
      case 32:
        return std::bit_cast<uint32_t>(static_cast<float>(static_cast<int>(random % 2047) - 1023) / 512);
      case 8:
        // No NaN and no infinity.
        return kind_.kernel == kS8.kernel ? random & 255 : random & 0xb7;
      default:
        return random & ((1u << kind_.bits) - 1);
    }
  }
  // Small elements lie sixteen to sixteen bytes, packed from the low bits on.
  void Put(std::vector<uint8_t>& image, uint32_t at, uint32_t bits) const {
    if (kind_.bits >= 8) {
      for (int i = 0; i < kind_.bits / 8; ++i) image[at + i] = static_cast<uint8_t>(bits >> 8 * i);
      return;
    }
    for (int i = 0; i < kind_.bits; ++i) {
      const uint32_t bit = at % 16 * kind_.bits + i;
      image[at / 16 * 16 + bit / 8] |= static_cast<uint8_t>((bits >> i & 1) << bit % 8);
    }
  }

  Kind kind_;
  uint32_t mn_, k_;
  Major major_;
  uint32_t mode_;
  std::vector<uint32_t> bits_;
};

inline uint32_t Instruction(uint32_t d, uint32_t a, uint32_t b, uint32_t n, uint32_t m, Major of_a, Major of_b) {
  return d << 4 | a << 7 | b << 10 | uint32_t{of_a == kAlongMn} << 15 | uint32_t{of_b == kAlongMn} << 16 | n / 8 << 17 |
         m / 16 << 24;
}

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_TENSOR_TILE_H_
