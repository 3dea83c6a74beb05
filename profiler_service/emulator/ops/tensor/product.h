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

  // sums[row][column] += a[row][k] * b[k][column].
  void Multiply(uint32_t n, uint32_t k, bool integer, bool saturate);

  // What SetB has made: as many as a warp multiplies by before it waits and the next one does the same.
  static constexpr size_t kKept = 8;
  static constexpr uint32_t kOperandBytes = kMostN * 32;  // wgmma takes 32 bytes of k
  struct Kept {
    Operand operand;
    alignas(64) uint8_t pieces[kOperandBytes];
    alignas(64) float b[kMostK][kMostN];
  };

  alignas(64) float a[kRows][kMostK];
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
