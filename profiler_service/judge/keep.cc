// The part of Judge that takes outputs aside: timed calls follow one another faster than they can be compared.
#include <utility>

#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "profiler_service/judge/judge.h"

namespace sassay::judge {

absl::Status Judge::Keep(Case& c, uint64_t as) {
  Case kept;
  kept.workload = c.workload;
  kept.state = c.state;
  kept.seed = c.seed;
  kept.distribution = c.distribution;
  if (OnDevice(c.workload)) {
    RETURN_IF_ERROR(KeepOnDevice(c, kept));
  } else {
    ASSIGN_OR_RETURN(kept.comparison, Look(c));
  }
  cases_.erase(as);
  cases_.emplace(as, std::move(kept));
  return absl::OkStatus();
}

absl::Status Judge::KeepOnDevice(Case& c, Case& kept) {
  RETURN_IF_ERROR(KnowState(c));
  kept.device_state = c.device_state;
  ASSIGN_OR_RETURN(const std::vector<gpu::SeenTensor> seen, LookOnDevice(c, kept.found));
  RETURN_IF_ERROR(examiner_->CheckInputs(*c.device_state, seen, kept.found));
  for (const gpu::SeenTensor& tensor : seen) {
    if (!tensor.output) continue;
    const sassay::v1::TensorSpec& spec = c.workload.outputs(tensor.tensor);
    KeptOutput output{tensor, {}};
    ASSIGN_OR_RETURN(output.memory, examiner_->kernels().Allocate(TensorBytes(spec), spec.name()));
    output.seen.address = output.memory.address();
    RETURN_IF_ERROR(device_.Copy(output.seen.address, tensor.address, TensorBytes(spec)));
    kept.outputs.push_back(std::move(output));
  }
  return absl::OkStatus();
}

}  // namespace sassay::judge
