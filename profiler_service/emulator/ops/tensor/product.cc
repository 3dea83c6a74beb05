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

// Several columns at once, so that one addition need not wait for the one before.
template <uint32_t kColumns>
inline __attribute__((always_inline)) void AddToColumns(const float* a, const float (*b)[TensorProduct::kMostN],
                                                        float* sums, uint32_t k) {
  float sum[kColumns];
  for (uint32_t i = 0; i < kColumns; ++i) sum[i] = sums[i];
  for (uint32_t inner = 0; inner < k; ++inner) {
    const float factor = a[inner];
    for (uint32_t i = 0; i < kColumns; ++i) sum[i] += factor * b[inner][i];
  }
  for (uint32_t i = 0; i < kColumns; ++i) sums[i] = sum[i];
}

using Columns = const float (*)[TensorProduct::kMostN];

SASSAY_FOR_AVX2 void AddProducts(const float (*a)[TensorProduct::kMostK], Columns b,
                                 float (*sums)[TensorProduct::kMostN], uint32_t n, uint32_t k) {
  constexpr uint32_t kWide = 64;
  for (uint32_t row = 0; row < TensorProduct::kRows; ++row) {
    uint32_t column = 0;
    for (; column + kWide <= n; column += kWide) {
      AddToColumns<kWide>(a[row], reinterpret_cast<Columns>(&b[0][column]), &sums[row][column], k);
    }
    for (; column < n; column += kLeastColumns) {
      AddToColumns<kLeastColumns>(a[row], reinterpret_cast<Columns>(&b[0][column]), &sums[row][column], k);
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
                            int32_t* integers, uint32_t stride) const {
  if (floats == nullptr) {
    for (uint32_t i = 0; i < count; ++i) {
      integers[i * stride] = type == Type::kS8 ? static_cast<int8_t>(bytes[i]) : int32_t{bytes[i]};
    }
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const float value = Element(type, bytes, i);
    floats[i * stride] = negate ? -value : value;
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
        Convert(operand.type, pieces, columns, operand.negate, &made.b[k][column], nullptr, 1);
      }
    }
    return;
  }
  for (uint32_t column = 0; column < operand.n; ++column, pieces += 32) {
    Convert(operand.type, pieces, operand.k, operand.negate, &made.b[0][column], nullptr, kMostN);
  }
}

// An instruction's own products stay far below 2^31, so only adding them to the accumulator can leave the range.
void TensorProduct::Multiply(uint32_t n, uint32_t k, bool integer, bool saturate) {
  if (!integer) return AddProducts(a, current_->b, sums, n, k);
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
