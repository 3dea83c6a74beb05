// The runner: the short-lived process that holds one device context and runs one candidate for one stage.
#ifndef SASSAY_PROFILER_SERVICE_RUNNER_RUNNER_H_
#define SASSAY_PROFILER_SERVICE_RUNNER_RUNNER_H_

#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "common/base/fd.h"
#include "profiler_service/device/device.h"
#include "profiler_service/runner/replay.h"
#include "profiler_service/wire/channel.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::runner {

// Answers requests on a device.
//
// Every answer is a reply: what the candidate did is in its outcome, and our own trouble is RUN_OUTCOME_INFRA.
// Thread-compatible; the device must outlive it.
class Runner {
 public:
  // `take_output` gives what was printed on the device since it was last called.
  Runner(device::Device& device, sassay::worker::RunMode mode, absl::AnyInvocable<std::string()> take_output);

  // The first message: what this runner runs on.
  sassay::worker::RunnerReply Ready() const;
  sassay::worker::RunnerReply Answer(const sassay::worker::RunnerRequest& request,
                                     const std::vector<UniqueFd>& descriptors);

 private:
  absl::Status ProveAlive(const sassay::worker::ProveAlive& prove);
  absl::Status Load(const sassay::worker::LoadCandidate& load, sassay::worker::RunnerReply& reply);
  // COUNTED on a device that runs SASS; nothing otherwise.
  absl::Status TakeSassCounts(sassay::worker::RunnerReply& reply);
  absl::Status Setup(const sassay::worker::RunSetup& setup, sassay::worker::RunnerReply& reply);
  absl::Status Steady(const sassay::worker::RunSteady& steady, sassay::worker::RunnerReply& reply);
  absl::Status WarmUp(const sassay::worker::WarmUp& warm_up, sassay::worker::RunnerReply& reply);
  absl::Status Time(const sassay::worker::TimeBlock& block, sassay::worker::RunnerReply& reply);
  void Report(device::Execution execution, sassay::worker::RunnerReply& reply);

  device::Device& device_;
  const sassay::worker::RunMode mode_;
  absl::AnyInvocable<std::string()> take_output_;
  Replay replay_;
};

// What a Status from a device or a replay means, in the wire's words: INVALID_ARGUMENT is a refusal, UNIMPLEMENTED an
// emulator that lacks an instruction, everything else our own trouble.
void ReportStatus(const absl::Status& status, sassay::worker::RunnerReply& reply);

// The reply of a runner that could not open its device.
sassay::worker::RunnerReply NotReady(const absl::Status& status);

// Answers until the peer closes the channel. OK then.
absl::Status Serve(wire::Channel& channel, Runner& runner);

}  // namespace sassay::runner

#endif  // SASSAY_PROFILER_SERVICE_RUNNER_RUNNER_H_
