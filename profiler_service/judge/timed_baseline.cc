#include "profiler_service/judge/timed_baseline.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/workload/definition.h"

namespace sassay::judge {

absl::StatusOr<std::unique_ptr<TimedBaseline>> TimedBaseline::Create(std::shared_ptr<Baseline> baseline,
                                                                     device::Device& device,
                                                                     const sassay::v1::Workload& workload, int sets,
                                                                     const FillInputs& fill) {
  std::unique_ptr<TimedBaseline> timed(new TimedBaseline(std::move(baseline), device, workload));
  for (int i = 0; i < sets; ++i) RETURN_IF_ERROR(timed->AddSet(fill));
  return timed;
}

TimedBaseline::~TimedBaseline() {
  for (const Set& set : sets_) {
    for (const auto* addresses : {&set.inputs, &set.outputs}) {
      for (const device::DeviceAddress address : *addresses) device_.Free(address).IgnoreError();
    }
  }
}

absl::Status TimedBaseline::AddSet(const FillInputs& fill) {
  const int index = sets();
  Set& set = sets_.emplace_back();
  for (int i = 0; i < workload_.inputs_size(); ++i) {
    ASSIGN_OR_RETURN(const device::DeviceAddress address,
                     device_.Allocate(TensorBytes(workload_.inputs(i)), workload_.inputs(i).name()));
    set.inputs.push_back(address);
  }
  for (const sassay::v1::TensorSpec& output : workload_.outputs()) {
    ASSIGN_OR_RETURN(const device::DeviceAddress address, device_.Allocate(TensorBytes(output), output.name()));
    set.outputs.push_back(address);
  }
  return fill(index, set.inputs);
}

absl::StatusOr<device::Execution> TimedBaseline::Enqueue(const Set& set) {
  RETURN_IF_ERROR(baseline_->Enqueue(set.inputs, set.outputs, device_.stream()));
  return device::Execution();
}

absl::StatusOr<device::Stretch> TimedBaseline::WarmUp(const device::StretchLength& length, absl::Time deadline) {
  return device::RunStretch(device_, length, deadline, [this](int) { return Enqueue(sets_.front()); });
}

absl::StatusOr<device::SampledBlock> TimedBaseline::Time(uint64_t poison_seed, int samples, absl::Time deadline) {
  const auto next = [&](int call) -> const Set& {
    return sets_[(calls_ + static_cast<uint64_t>(call)) % sets_.size()];
  };
  const auto prepare = [&](int call) -> absl::StatusOr<device::Execution> {
    for (int i = 0; i < workload_.outputs_size(); ++i) {
      RETURN_IF_ERROR(device_.Poison(next(call).outputs[static_cast<size_t>(i)], TensorBytes(workload_.outputs(i)),
                                     poison_seed + static_cast<uint64_t>(call)));
    }
    return device::Execution();
  };
  ASSIGN_OR_RETURN(device::SampledBlock block, device::SampleBlock(device_, samples, /*hold=*/true, deadline, prepare,
                                                                   [&](int call) { return Enqueue(next(call)); }));
  calls_ += static_cast<uint64_t>(samples);
  return block;
}

}  // namespace sassay::judge
