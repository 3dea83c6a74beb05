// How Hopper's tensor cores add products of floats, as an H200 was measured to (tests/gpu/tensor_sums; decision 0025).
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_SUM_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_SUM_H_

#include <cstdint>

#include "profiler_service/emulator/ptx/types.h"

namespace sassay::emulator {

// An instruction adds all of its products and the accumulator at once. Each addend is cut off (toward zero) at
// `aligned` bits behind the point of the largest one's exponent, where a product's exponent is the sum of its factors'
// and its significand may reach 4; the cut addends are added exactly, and the sum is cut off to `kept` bits behind its
// leading one. An accumulator of f16 is rounded to nearest even out of the exact sum instead: `to_f16` leaves a bit
// that tells of what was cut off, so that who makes an f16 of the result rounds it once.
struct SumRules {
  int aligned = 25;
  int kept = 23;
  bool to_f16 = false;
};

// Of wgmma, and of mma.sync with f16, bf16 and tf32. 8-bit floats have fewer bits in wgmma; in mma.sync, which ptxas
// makes of products of f16, they have not.
inline SumRules WgmmaRules(Type factors, Type accumulators) {
  const bool narrow = factors == Type::kE4m3 || factors == Type::kE5m2, to_f16 = accumulators == Type::kF16;
  return {narrow ? 13 : 25, narrow && !to_f16 ? 13 : 23, to_f16};
}

// What stands for the exponent of zero, and of infinities and NaN.
inline constexpr int32_t kExponentOfZero = -4096, kExponentOfNoNumber = 1024;
// The exponent of a number that a register holds as `type`: those below its least normal one have that one's.
int32_t TensorExponent(float value, Type type);

// `sum` + products of `count` factors. `a_exponents`, `b_exponents`: of the factors; `step`: from one of b to the next.
struct Factors {
  const float* a = nullptr;
  const int32_t* a_exponents = nullptr;
  const float* b = nullptr;
  const int32_t* b_exponents = nullptr;
  uint32_t step = 1, count = 0;
};
float TensorSum(float sum, const Factors& factors, const SumRules& rules);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_SUM_H_
