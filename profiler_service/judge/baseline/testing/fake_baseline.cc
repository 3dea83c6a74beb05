#include "profiler_service/judge/baseline/testing/fake_baseline.h"

namespace sassay::judge {

FakeBaseline::FakeBaseline(int inputs, int outputs, Action action)
    : inputs_(inputs), outputs_(outputs), action_(std::move(action)), facts_{"fake library", "1.0", "nothing", 1, 0} {}

absl::Status FakeBaseline::Enqueue(absl::Span<const device::DeviceAddress> inputs,
                                   absl::Span<const device::DeviceAddress> outputs, void* stream) {
  if (inputs.size() != inputs_ || outputs.size() != outputs_) {
    return absl::InvalidArgumentError("wrong number of tensors");
  }
  calls_.push_back({{inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, stream});
  return action_ ? action_(calls_.back()) : absl::OkStatus();
}

}  // namespace sassay::judge
