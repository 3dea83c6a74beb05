// From a recording of three calls to a launch plan, by the rules that captured CUDA host code is held to.
#ifndef SASSAY_AGENT_INTEROP_TRITON_PLAN_H_
#define SASSAY_AGENT_INTEROP_TRITON_PLAN_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/interop/triton/recording.h"
#include "sassay/v1/plan.pb.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// A plan, or a CAPTURE_ERROR verdict: calls that differ, no launch, an offset outside of its buffer.
using TritonPlanOutcome = std::variant<v1::LaunchPlan, v1::Verdict>;

// `kernels`: the symbols of the recording's kernels in the cubin, in its order. The recording has no failure.
TritonPlanOutcome MakeTritonPlan(const TritonRecording& recording, const v1::Workload& workload,
                                 const std::vector<std::string>& kernels, absl::string_view device_model);

// A COMPILE_ERROR or CAPTURE_ERROR verdict for a failure of the recording, with the line of `source`.
v1::Verdict TritonFailureVerdict(const TritonFailure& failure, absl::string_view source);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_INTEROP_TRITON_PLAN_H_
