// Elements of tensors as numbers: every dtype a workload may name, read exactly, written with round-to-nearest-even.
//
// Why not the compiler's types: this machine's compiler has no bf16 or fp8, and the judge must round exactly as the
// GPU's conversion instructions do.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_ELEMENT_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_ELEMENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// Whether the type has an exponent (everything that is not an integer or bool).
bool IsFloating(sassay::v1::DType dtype);

// The element at `bytes` as a double: exact for every type but int64 beyond 2^53.
double LoadElement(sassay::v1::DType dtype, const char* bytes);

// Writes `value` as `dtype`, rounded to nearest even; floats overflow to infinity (e4m3fn saturates: it has none),
// integers saturate.
void StoreElement(sassay::v1::DType dtype, double value, char* bytes);

// `value` after a trip through `dtype`.
double RoundTo(sassay::v1::DType dtype, double value);

// Distance between neighbouring numbers of `dtype` around `value` (the unit in the last place), subnormals included.
// 0 for integers and bool: they are compared exactly.
double UlpAt(sassay::v1::DType dtype, double value);

// A whole tensor as floats: exact for every type of at most 24 bits of precision.
std::vector<float> DecodeFloats(sassay::v1::DType dtype, absl::string_view bytes);
// A whole tensor as doubles.
std::vector<double> DecodeDoubles(sassay::v1::DType dtype, absl::string_view bytes);
// The other way.
std::string EncodeDoubles(sassay::v1::DType dtype, const std::vector<double>& values);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_ELEMENT_H_
