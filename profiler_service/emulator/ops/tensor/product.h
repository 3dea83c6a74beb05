// A warp's share of a large matrix product, 16 rows by up to 256 columns, in the host's vector registers.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_PRODUCT_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_PRODUCT_H_

#include <cstdint>

#include "profiler_service/emulator/ops/tensor/sum.h"
#include "profiler_service/emulator/ptx/types.h"

namespace sassay::emulator {

// Numerics. Floats: every product of two elements is exact in fp32 (tf32 has 11 bits, the others have fewer); they are
// added as an H200 adds them (sum.h), to the bit. Integers wrap, or saturate after each instruction: exact.
struct TensorProduct {
  static constexpr uint32_t kRows = 16, kMostN = 256, kMostK = 32;

  // The host thread's own: it is large, and written anew for each product.
  static TensorProduct& OfThread();

  // `count` elements of `type` from `bytes` go to floats[i * stride] or, where that is null, to integers; the floats'
  // exponents (sum.h) to exponents[i * stride].
  void Convert(Type type, const uint8_t* bytes, uint32_t count, bool negate, float* floats, int32_t* exponents,
               int32_t* integers, uint32_t stride) const;
  void SetA(Type type, uint32_t row, uint32_t k, double value) {
    a[row][k] = static_cast<float>(value);
    a_exponents[row][k] = TensorExponent(a[row][k], type);
    integer_a[row][k] = static_cast<int32_t>(value);
  }
  // No sums yet, of floats or of integers.
  void Clear(uint32_t n, bool integer);
  // Eight columns from `column` on, as four registers of 32 lanes hold them: lane l has of rows l / 4 (registers 0 and
  // 1) and l / 4 + 8 (2 and 3) columns l % 4 * 2 (0 and 2) and the next (1 and 3).
  void LoadSums(uint32_t column, const uint32_t* const (&registers)[4]);
  void StoreSums(uint32_t column, uint32_t* const (&registers)[4]) const;

  // Makes b of `n` columns by `k` out of what shared memory holds, unless it is at hand already from an instruction
  // before: the warps of a warpgroup multiply by the same. `pieces`: 16 bytes each; column by column, each along k
  // (`k_bytes` of them), or where `mn_major` eight or so columns a piece, all k of them, then the next.
  struct Operand {
    Type type = Type::kNone;
    uint32_t n = 0, k = 0;
    bool mn_major = false, negate = false;
    bool operator==(const Operand&) const = default;
  };
  void SetB(const Operand& operand, const uint8_t* pieces);

  // sums[row][column] += a[row][k] * b[k][column], floats by `rules`.
  void Multiply(uint32_t n, uint32_t k, const SumRules& rules);
  void MultiplyIntegers(uint32_t n, uint32_t k, bool saturate);

  // What SetB has made: as many as a warp multiplies by before it waits and the next one does the same.
  static constexpr size_t kKept = 8;
  static constexpr uint32_t kOperandBytes = kMostN * 32;  // wgmma takes 32 bytes of k
  struct Kept {
    Operand operand;
    alignas(64) uint8_t pieces[kOperandBytes];
    alignas(64) float b[kMostK][kMostN];
    alignas(64) int32_t exponents[kMostK][kMostN];
  };

  alignas(64) float a[kRows][kMostK];
  alignas(64) int32_t a_exponents[kRows][kMostK];
  alignas(64) float sums[kRows][kMostN];
  alignas(64) int32_t integer_a[kRows][kMostK];
  alignas(64) int32_t integer_b[kMostK][kMostN];
  alignas(64) int32_t integer_sums[kRows][kMostN];

 private:
  Kept kept_[kKept];
  size_t next_ = 0;              // to be overwritten
  const Kept* current_ = kept_;  // what Multiply takes
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_PRODUCT_H_
