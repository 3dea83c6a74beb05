// Attention on the GPU: reference/attention_reference.h's formulas, made of products over whole rows of scores.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_ATTENTION_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_ATTENTION_H_

#include <memory>

#include "absl/status/statusor.h"
#include "profiler_service/judge/gpu/reference.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge::gpu {

// The workload's shapes were checked.
absl::StatusOr<std::unique_ptr<Reference>> MakeAttentionForward(const sassay::v1::Workload& workload, bool causal);
absl::StatusOr<std::unique_ptr<Reference>> MakeAttentionBackward(const sassay::v1::Workload& workload, bool causal);

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_ATTENTION_H_
