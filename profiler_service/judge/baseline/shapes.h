// A workload as a vendor library sees it: sizes taken from its tensors, after checking that they are what the operator
// means.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_SHAPES_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_SHAPES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// C[m,n] = A[m,k] * B[n,k]^T, row-major.
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  sassay::v1::DType input = sassay::v1::DTYPE_UNSPECIFIED;
  sassay::v1::DType output = sassay::v1::DTYPE_UNSPECIFIED;
};

// INVALID_ARGUMENT unless the inputs are A[M,K] and B[N,K] of one type and the output is C[M,N]; UNIMPLEMENTED for
// types that no baseline is built for (inputs bfloat16 or float16, output the same or float32).
absl::StatusOr<GemmShape> GemmShapeOf(const sassay::v1::Workload& workload);

// softmax(Q K^T / sqrt(d)) V over tensors [b,h,s,d], with statistics [b,h,s]: forward (Q, K, V -> O, LSE) or backward
// (Q, K, V, O, dO, L -> dQ, dK, dV).
struct AttentionShape {
  int64_t batch = 0, heads = 0, sequence = 0, head_size = 0;
  sassay::v1::DType dtype = sassay::v1::DTYPE_UNSPECIFIED;
  bool causal = false;
  bool backward = false;
};

// The direction and the mask are those of the workload's reference: UNIMPLEMENTED unless it is builtin:mha_forward,
// builtin:mha_backward or one of these with _causal. INVALID_ARGUMENT unless the tensors are as above; UNIMPLEMENTED
// for types other than bfloat16 and float16.
absl::StatusOr<AttentionShape> AttentionShapeOf(const sassay::v1::Workload& workload);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_SHAPES_H_
