// The baseline as it is timed: in memory of the judge's own, on inputs of its own, one block at a time, in the same way
// in which a runner times its candidate.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_TIMED_BASELINE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_TIMED_BASELINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "profiler_service/device/device.h"
#include "profiler_service/device/sampler.h"
#include "profiler_service/judge/baseline/baseline.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// One baseline with its tensors.
//
// Life cycle: Create, then WarmUp and Time as often as wanted; destruction frees the
// memory. Threads: the device's. Ownership: the device must outlive it. Failure: a Status is ours; an Execution that is
// not OK is ours, too.
class TimedBaseline {
 public:
  // Writes the workload's inputs to `buffers`, one for each. Every set gets contents of its own.
  using FillInputs = std::function<absl::Status(int set, absl::Span<const device::DeviceAddress> buffers)>;

  // Failures as `fill`'s, or RESOURCE_EXHAUSTED.
  static absl::StatusOr<std::unique_ptr<TimedBaseline>> Create(std::shared_ptr<Baseline> baseline,
                                                               device::Device& device,
                                                               const sassay::v1::Workload& workload, int sets,
                                                               const FillInputs& fill);
  ~TimedBaseline();

  const BaselineFacts& facts() const { return baseline_->facts(); }
  int sets() const { return static_cast<int>(sets_.size()); }

  absl::StatusOr<device::Stretch> WarmUp(const device::StretchLength& length, absl::Time deadline);
  // `samples` calls on the sets in turn, outputs poisoned before each.
  absl::StatusOr<device::SampledBlock> Time(uint64_t poison_seed, int samples, absl::Time deadline);

 private:
  struct Set {
    std::vector<device::DeviceAddress> inputs, outputs;
  };
  TimedBaseline(std::shared_ptr<Baseline> baseline, device::Device& device, const sassay::v1::Workload& workload)
      : baseline_(std::move(baseline)), device_(device), workload_(workload) {}
  absl::Status AddSet(const FillInputs& fill);
  absl::StatusOr<device::Execution> Enqueue(const Set& set);

  const std::shared_ptr<Baseline> baseline_;
  device::Device& device_;
  const sassay::v1::Workload workload_;
  std::vector<Set> sets_;
  uint64_t calls_ = 0;
};

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_TIMED_BASELINE_H_
