// For tests alone: workloads of any size for the baselines' operators.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_TESTING_WORKLOADS_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_TESTING_WORKLOADS_H_

#include <cstdint>

#include "profiler_service/judge/baseline/shapes.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// bf16 A[m,k], B[n,k] -> C[m,n], baseline cublaslt.
sassay::v1::Workload GemmWorkload(int64_t m, int64_t n, int64_t k);

// bf16 attention with the reference that `shape` says, baseline cudnn_sdpa; the shape's dtype is ignored.
sassay::v1::Workload AttentionWorkload(const AttentionShape& shape);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_TESTING_WORKLOADS_H_
