// A warp's share of a large matrix product, 16 rows by up to 256 columns, in the host's vector registers.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_PRODUCT_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_PRODUCT_H_

#include <cstdint>

#include "profiler_service/emulator/ptx/types.h"

namespace sassay::emulator {

// Numerics. Floats: every product of two elements is exact in fp32 (tf32 has 11 bits, the others have fewer); sums are
// rounded to nearest after each product, in the order of k, beginning with the accumulator. Tensor cores add the
// products of one instruction at once and cut bits off, 8-bit floats with even fewer bits kept (about 14), so last bits
// differ from silicon's: on an H200 one instruction came within 7e-8 of the exact sum, relative to it plus 16, with
// f16, bf16 and tf32, within 4e-5 with e4m3. Integers wrap, or saturate after each instruction: exact.
struct TensorProduct {
  static constexpr uint32_t kRows = 16, kMostN = 256, kMostK = 32;

  // The host thread's own: it is large, and written anew for each product.
  static TensorProduct& OfThread();

  // `count` elements of `type` from `bytes` go to floats[i * stride] or, where that is null, to integers.
  void Convert(Type type, const uint8_t* bytes, uint32_t count, bool negate, float* floats, int32_t* integers,
               uint32_t stride) const;
  void SetA(uint32_t row, uint32_t k, double value) {
    a[row][k] = static_cast<float>(value);
    integer_a[row][k] = static_cast<int32_t>(value);
  }
  // No sums yet.
  void Clear(uint32_t n);
  // sums[row][column] += a[row][k] * b[k][column].
  void Multiply(uint32_t n, uint32_t k, bool integer, bool saturate);

  alignas(64) float a[kRows][kMostK];
  alignas(64) float b[kMostK][kMostN];
  alignas(64) float sums[kRows][kMostN];
  alignas(64) int32_t integer_a[kRows][kMostK];
  alignas(64) int32_t integer_b[kMostK][kMostN];
  alignas(64) int32_t integer_sums[kRows][kMostN];
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_PRODUCT_H_
