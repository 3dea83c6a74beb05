#include "profiler_service/emulator/ops/tensor/product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/tensor/matrix.h"

// The loops below are made for AVX2 too, where the machine has it: the same operations, so the same results.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define SASSAY_FOR_AVX2 __attribute__((target_clones("avx2", "default")))
#else
#define SASSAY_FOR_AVX2
#endif

namespace sassay::emulator {
namespace {

constexpr uint32_t kLeastColumns = 8;  // n is a multiple of it

const float* HalvesAsFloats() {
  static const std::vector<float>* const kTable = [] {
    auto* table = new std::vector<float>(65536);
    for (uint32_t i = 0; i < table->size(); ++i) (*table)[i] = HalfToFloat(static_cast<uint16_t>(i));
    return table;
  }();
  return kTable->data();
}

template <class T>
T At(const uint8_t* bytes, uint32_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return value;
}

float Element(Type type, const uint8_t* bytes, uint32_t i) {
  switch (type) {
    case Type::kBf16:
      return std::bit_cast<float>(uint32_t{At<uint16_t>(bytes, i)} << 16);
    case Type::kF16:
      return HalvesAsFloats()[At<uint16_t>(bytes, i)];
    case Type::kTf32:
      return std::bit_cast<float>(At<uint32_t>(bytes, i) & 0xffffe000);
    default:
      return static_cast<float>(MatrixElement(bytes[i], type, 0));
  }
}

using Columns = const float (*)[TensorProduct::kMostN];
using Exponents = const int32_t (*)[TensorProduct::kMostN];

// Where the largest addend has an exponent between these, scaled addends are exact in fp32, or too small to count.
constexpr int32_t kLeastTop = -90, kMostTop = 120;

// TensorSum for several columns of one row at once. Addends are below 4 * 2^25, so that eight fit into 32 bits.
template <uint32_t kColumns>
inline __attribute__((always_inline)) void AddToColumns(const float* a, const int32_t* a_exponents, Columns b,
                                                        Exponents b_exponents, float* sums, uint32_t k,
                                                        const SumRules& rules) {
  int32_t top[kColumns], first[kColumns], rest[kColumns];
  float scale[kColumns];
  const int32_t least = rules.to_f16 ? -14 : -126;
  for (uint32_t i = 0; i < kColumns; ++i) {
    const int32_t bits = std::bit_cast<int32_t>(sums[i]) & 0x7fffffff;
    const int32_t exponent = std::max((bits >> 23) - 127, least);
    top[i] = bits == 0 ? kExponentOfZero : bits >= 0x7f800000 ? kExponentOfNoNumber : exponent;
  }
  for (uint32_t inner = 0; inner < k; ++inner) {
    const int32_t exponent = a_exponents[inner];
    for (uint32_t i = 0; i < kColumns; ++i) top[i] = std::max(top[i], exponent + b_exponents[inner][i]);
  }
  int32_t lowest = kMostTop, highest = kLeastTop;
  for (uint32_t i = 0; i < kColumns; ++i) {
    top[i] = top[i] < kExponentOfZero / 2 ? 0 : top[i];  // nothing but zeros
    lowest = std::min(lowest, top[i]), highest = std::max(highest, top[i]);
  }
  if (lowest < kLeastTop || highest > kMostTop) {
    for (uint32_t i = 0; i < kColumns; ++i) {
      sums[i] = TensorSum(sums[i], {a, a_exponents, &b[0][i], &b_exponents[0][i], TensorProduct::kMostN, k}, rules);
    }
    return;
  }
  for (uint32_t i = 0; i < kColumns; ++i) {
    scale[i] = std::bit_cast<float>((rules.aligned - top[i] + 127) << 23);
    first[i] = static_cast<int32_t>(sums[i] * scale[i]);
    rest[i] = 0;
  }
  constexpr uint32_t kFirst = 8;
  for (uint32_t inner = 0; inner < std::min(k, kFirst); ++inner) {
    const float factor = a[inner];
    for (uint32_t i = 0; i < kColumns; ++i) first[i] += static_cast<int32_t>(factor * b[inner][i] * scale[i]);
  }
  for (uint32_t inner = kFirst; inner < k; ++inner) {
    const float factor = a[inner];
    for (uint32_t i = 0; i < kColumns; ++i) rest[i] += static_cast<int32_t>(factor * b[inner][i] * scale[i]);
  }
  const uint64_t low = ~(~uint64_t{0} << (52 - rules.kept)), tells = rules.to_f16 ? low + 1 : 0;
  for (uint32_t i = 0; i < kColumns; ++i) {
    const double unit = std::bit_cast<double>(static_cast<uint64_t>(top[i] - rules.aligned + 1023) << 52);
    const uint64_t bits =
        std::bit_cast<uint64_t>((static_cast<double>(first[i]) + static_cast<double>(rest[i])) * unit);
    const uint64_t told = (bits & low) != 0 ? tells : 0;
    sums[i] = static_cast<float>(std::bit_cast<double>((bits & ~low) | told));
  }
}

SASSAY_FOR_AVX2 void AddProducts(const TensorProduct& product, Columns b, Exponents exponents,
                                 float (*sums)[TensorProduct::kMostN], uint32_t n, uint32_t k, const SumRules& rules) {
  constexpr uint32_t kWide = 64;
  for (uint32_t row = 0; row < TensorProduct::kRows; ++row) {
    const float* a = product.a[row];
    const int32_t* a_exponents = product.a_exponents[row];
    uint32_t column = 0;
    for (; column + kWide <= n; column += kWide) {
      AddToColumns<kWide>(a, a_exponents, reinterpret_cast<Columns>(&b[0][column]),
                          reinterpret_cast<Exponents>(&exponents[0][column]), &sums[row][column], k, rules);
    }
    for (; column < n; column += kLeastColumns) {
      AddToColumns<kLeastColumns>(a, a_exponents, reinterpret_cast<Columns>(&b[0][column]),
                                  reinterpret_cast<Exponents>(&exponents[0][column]), &sums[row][column], k, rules);
    }
  }
}

SASSAY_FOR_AVX2 void AddIntegerProducts(const int32_t (*a)[TensorProduct::kMostK],
                                        const int32_t (*b)[TensorProduct::kMostN],
                                        uint32_t (*sums)[TensorProduct::kMostN], uint32_t n, uint32_t k) {
  for (uint32_t row = 0; row < TensorProduct::kRows; ++row) {
    for (uint32_t inner = 0; inner < k; ++inner) {
      const int32_t factor = a[row][inner];
      for (uint32_t i = 0; i < n; ++i) sums[row][i] += static_cast<uint32_t>(factor * b[inner][i]);
    }
  }
}

}  // namespace

TensorProduct& TensorProduct::OfThread() {
  thread_local const std::unique_ptr<TensorProduct> product = std::make_unique<TensorProduct>();
  return *product;
}

void TensorProduct::Convert(Type type, const uint8_t* bytes, uint32_t count, bool negate, float* floats,
                            int32_t* exponents, int32_t* integers, uint32_t stride) const {
  if (floats == nullptr) {
    for (uint32_t i = 0; i < count; ++i) {
      integers[i * stride] = type == Type::kS8 ? static_cast<int8_t>(bytes[i]) : int32_t{bytes[i]};
    }
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const float value = Element(type, bytes, i);
    floats[i * stride] = negate ? -value : value;
    exponents[i * stride] = TensorExponent(value, type);
  }
}

void TensorProduct::Clear(uint32_t n, bool integer) {
  for (uint32_t row = 0; row < kRows; ++row) {
    if (integer) {
      std::fill_n(integer_sums[row], n, 0);
    } else {
      std::fill_n(sums[row], n, 0.0f);
    }
  }
}

void TensorProduct::LoadSums(uint32_t column, const uint32_t* const (&registers)[4]) {
  for (uint32_t half = 0; half < 2; ++half) {
    const uint32_t *even = registers[2 * half], *odd = registers[2 * half + 1];
    for (uint32_t row = 0; row < 8; ++row) {
      uint32_t both[8];
      for (uint32_t i = 0; i < 4; ++i) both[2 * i] = even[4 * row + i], both[2 * i + 1] = odd[4 * row + i];
      std::memcpy(&sums[8 * half + row][column], both, sizeof(both));
    }
  }
}

void TensorProduct::StoreSums(uint32_t column, uint32_t* const (&registers)[4]) const {
  for (uint32_t half = 0; half < 2; ++half) {
    uint32_t *even = registers[2 * half], *odd = registers[2 * half + 1];
    for (uint32_t row = 0; row < 8; ++row) {
      const float* both = &sums[8 * half + row][column];
      for (uint32_t i = 0; i < 4; ++i) {
        even[4 * row + i] = std::bit_cast<uint32_t>(Canonical(both[2 * i]));
        odd[4 * row + i] = std::bit_cast<uint32_t>(Canonical(both[2 * i + 1]));
      }
    }
  }
}

void TensorProduct::SetB(const Operand& operand, const uint8_t* pieces) {
  const uint32_t bytes = operand.n * 32;
  for (const Kept& kept : kept_) {
    if (!(kept.operand == operand) || std::memcmp(kept.pieces, pieces, bytes) != 0) continue;
    current_ = &kept;
    return;
  }
  Kept& made = kept_[next_];
  next_ = (next_ + 1) % kKept;
  current_ = &made;
  made.operand = operand;
  std::memcpy(made.pieces, pieces, bytes);
  if (operand.mn_major) {
    const uint32_t columns = operand.n * operand.k * 16 / bytes;  // of a piece
    for (uint32_t column = 0; column < operand.n; column += columns) {
      for (uint32_t k = 0; k < operand.k; ++k, pieces += 16) {
        Convert(operand.type, pieces, columns, operand.negate, &made.b[k][column], &made.exponents[k][column], nullptr,
                1);
      }
    }
    return;
  }
  for (uint32_t column = 0; column < operand.n; ++column, pieces += 32) {
    Convert(operand.type, pieces, operand.k, operand.negate, &made.b[0][column], &made.exponents[0][column], nullptr,
            kMostN);
  }
}

void TensorProduct::Multiply(uint32_t n, uint32_t k, const SumRules& rules) {
  AddProducts(*this, current_->b, current_->exponents, sums, n, k, rules);
}

// An instruction's own products stay far below 2^31, so only adding them to the accumulator can leave the range.
void TensorProduct::MultiplyIntegers(uint32_t n, uint32_t k, bool saturate) {
  uint32_t products[kRows][kMostN] = {};
  AddIntegerProducts(integer_a, integer_b, products, n, k);
  for (uint32_t row = 0; row < kRows; ++row) {
    for (uint32_t column = 0; column < n; ++column) {
      const int64_t sum = int64_t{integer_sums[row][column]} + static_cast<int32_t>(products[row][column]);
      integer_sums[row][column] =
          saturate ? static_cast<int32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)) : static_cast<int32_t>(sum);
    }
  }
}

}  // namespace sassay::emulator
