// C[M,N] = A[M,K] * B[N,K]^T, summed in fp64.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_GEMM_REFERENCE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_GEMM_REFERENCE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "profiler_service/judge/reference/reference.h"

namespace sassay::judge {

// Noise of an element: f32 accumulation of K products, sqrt(K) * 2^-24 * |A_i| |B_j| (a random walk of K roundings,
// each relative to a partial sum that Cauchy-Schwarz bounds).
absl::StatusOr<std::unique_ptr<Reference>> MakeGemmReference(const sassay::v1::Workload& workload);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_GEMM_REFERENCE_H_
