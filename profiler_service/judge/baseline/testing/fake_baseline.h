// For tests alone: a baseline without a library behind it.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_TESTING_FAKE_BASELINE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_TESTING_FAKE_BASELINE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "profiler_service/judge/baseline/baseline.h"

namespace sassay::judge {

// Remembers its calls and does what the test says. Thread-compatible.
class FakeBaseline : public Baseline {
 public:
  struct Call {
    std::vector<device::DeviceAddress> inputs;
    std::vector<device::DeviceAddress> outputs;
    void* stream;
  };
  // What a call does and returns, after it was recorded; nothing and OK where empty.
  using Action = std::function<absl::Status(const Call& call)>;

  FakeBaseline(int inputs, int outputs, Action action = {});

  const BaselineFacts& facts() const override { return facts_; }
  absl::Status Enqueue(absl::Span<const device::DeviceAddress> inputs, absl::Span<const device::DeviceAddress> outputs,
                       void* stream) override;

  const std::vector<Call>& calls() const { return calls_; }

 private:
  const size_t inputs_;
  const size_t outputs_;
  const Action action_;
  const BaselineFacts facts_;
  std::vector<Call> calls_;
};

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_BASELINE_TESTING_FAKE_BASELINE_H_
