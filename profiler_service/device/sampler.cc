#include "profiler_service/device/sampler.h"

#include <utility>

#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::device {
namespace {

// What the host may take to enqueue one call before its hold lets go.
constexpr absl::Duration kHoldTimeout = absl::Milliseconds(500);
constexpr absl::Duration kSpinWhileSampling = absl::Milliseconds(50);
// Calls that are enqueued together in a stretch take about so long: waiting for the device is little beside that.
constexpr absl::Duration kBatchTime = absl::Milliseconds(2);
constexpr absl::Duration kUsualSpin = absl::Microseconds(300);

bool IsOk(const Execution& execution) { return execution.outcome == sassay::worker::RUN_OUTCOME_OK; }

// No nap between samples; whatever is held is let go.
class Attention {
 public:
  explicit Attention(Device& device) : device_(device) {
    device_.SpinFor(kSpinWhileSampling);
    device_.ForgetMarks();
  }
  ~Attention() {
    device_.Release();
    device_.SpinFor(kUsualSpin);
  }

 private:
  Device& device_;
};

void Add(Execution& execution, Execution later) {
  later.device_ns += execution.device_ns;
  later.device_output = execution.device_output + later.device_output;
  execution = std::move(later);
}

// Enqueues and waits.
absl::StatusOr<Execution> SampleOnce(Device& device, int index, bool hold, absl::Time deadline, EnqueueCall prepare,
                                     EnqueueCall call, std::vector<std::pair<int, int>>& marks) {
  RETURN_IF_ERROR(device.ProbeClock());
  ASSIGN_OR_RETURN(Execution execution, prepare(index));
  if (!IsOk(execution)) return execution;
  RETURN_IF_ERROR(device.FlushL2());
  if (hold) RETURN_IF_ERROR(device.Hold(kHoldTimeout));
  ASSIGN_OR_RETURN(const int first, device.Mark());
  ASSIGN_OR_RETURN(execution, call(index));
  if (!IsOk(execution)) return execution;
  ASSIGN_OR_RETURN(const int second, device.Mark());
  device.Release();
  marks.emplace_back(first, second);
  return device.Synchronize(deadline);
}

int BatchOf(const StretchLength& length, absl::Duration call) {
  const double fit = absl::FDivDuration(kBatchTime, std::max(call, absl::Nanoseconds(1)));
  return static_cast<int>(std::clamp<double>(fit, 1, std::max(length.batch, 1)));
}

}  // namespace

absl::StatusOr<SampledBlock> SampleBlock(Device& device, int samples, bool hold, absl::Time deadline,
                                         EnqueueCall prepare, EnqueueCall call) {
  const Attention attention(device);
  SampledBlock block;
  std::vector<std::pair<int, int>> marks;
  for (int i = 0; i < samples; ++i) {
    ASSIGN_OR_RETURN(Execution once, SampleOnce(device, i, hold, deadline, prepare, call, marks));
    Add(block.execution, std::move(once));
    if (!IsOk(block.execution)) return block;
  }
  RETURN_IF_ERROR(device.ProbeClock());
  ASSIGN_OR_RETURN(Execution last, device.Synchronize(deadline));
  Add(block.execution, std::move(last));
  if (!IsOk(block.execution)) return block;
  for (const auto& [first, second] : marks) {
    ASSIGN_OR_RETURN(const double ns, device.NanosecondsBetween(first, second));
    block.samples_ns.push_back(ns);
  }
  block.clock_mhz = device.ProbedClockMhz();
  block.late = device.HeldTooLong();
  return block;
}

absl::StatusOr<Stretch> RunStretch(Device& device, const StretchLength& length, absl::Time deadline, EnqueueCall call) {
  const Attention attention(device);
  const absl::Time begin = SteadyNow();
  Stretch stretch;
  const auto wants_more = [&] {
    const absl::Duration took = SteadyNow() - begin;
    if (stretch.calls == 0) return true;
    return (stretch.calls < length.calls || took < length.at_least) && took < length.at_most;
  };
  RETURN_IF_ERROR(device.ProbeClock());
  // One call first: nobody knows yet how long it takes.
  int batch = 1;
  while (wants_more()) {
    const int first = stretch.calls, missing = length.calls - first;
    const int end = first + (missing > 0 ? std::min(batch, missing) : batch);
    while (stretch.calls < end) {
      ASSIGN_OR_RETURN(Execution enqueued, call(stretch.calls++));
      Add(stretch.execution, std::move(enqueued));
      if (!IsOk(stretch.execution)) return stretch;
    }
    const absl::Time launches = SteadyNow();
    RETURN_IF_ERROR(device.ProbeClock());
    const double enqueue_ns = absl::ToDoubleNanoseconds(SteadyNow() - launches);
    stretch.enqueue_ns = first == 0 ? enqueue_ns : std::min(stretch.enqueue_ns, enqueue_ns);
    ASSIGN_OR_RETURN(Execution waited, device.Synchronize(deadline));
    Add(stretch.execution, std::move(waited));
    if (!IsOk(stretch.execution)) return stretch;
    batch = BatchOf(length, (SteadyNow() - begin) / stretch.calls);
  }
  stretch.clock_mhz = device.ProbedClockMhz();
  return stretch;
}

}  // namespace sassay::device
