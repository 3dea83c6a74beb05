// A runner as the stages see it: six questions, typed.
#ifndef SASSAY_PROFILER_SERVICE_WIRE_RUNNER_CLIENT_H_
#define SASSAY_PROFILER_SERVICE_WIRE_RUNNER_CLIENT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "common/base/fd.h"
#include "profiler_service/wire/live_runners.h"
#include "profiler_service/wire/worker.pb.h"
#include "profiler_service/wire/worker_process.h"

namespace sassay::wire {

// What a runner may take beyond the device's own deadline: filling buffers, copying, tidying up, writing findings.
inline constexpr absl::Duration kRunnerGrace = absl::Seconds(20);
// Loading a module: ptxas has run already, so only the driver's loader or the emulator's parser.
inline constexpr absl::Duration kRunnerLoadTimeout = absl::Seconds(60);

// One runner, for one candidate and one stage. Destruction kills it.
//
// Life cycle: Load, Bind, Setup, then Steady (or WarmUp and Time) as often as wanted; after a reply whose outcome is
// not OK, or a failure, give the runner up. Threads: one thread asks; Kill from any thread (Call's contract in
// worker_process.h). Failure: a Status is our own trouble (the runner was lost, late or cancelled); what the candidate
// did is in the reply, which has been bounded (BoundReply).
class RunnerClient {
 public:
  static constexpr int kMaxFindings = 64;
  static constexpr int kMaxPlacements = 8192;
  static constexpr int kMaxOpcodes = 16384;
  static constexpr int kMaxCountedLaunches = 10'256;
  static constexpr int kMaxCountedFunctions = 4096;
  static constexpr int kMaxSamples = 100'000;
  static constexpr size_t kMaxTextBytes = 64 << 10;

  explicit RunnerClient(std::unique_ptr<WorkerProcess> process) : process_(std::move(process)) {}

  // From now on whoever watches knows of it. Call before WaitReady.
  void Register(LiveRunners& runners, absl::string_view device) { entry_ = runners.Add(device, *process_); }

  // Waits for the first message of a fresh runner. INFRA outcomes become UNAVAILABLE with the runner's reason.
  absl::Status WaitReady(absl::Time deadline);
  // Whether the device still works, of a runner that has no candidate yet: a kernel of ours runs there. UNAVAILABLE if
  // it does not; else Call's failures. After a failure give the runner up.
  absl::Status ProveAlive(absl::Time deadline);
  // What the runner runs on; valid after WaitReady.
  const sassay::v1::Versions& versions() const { return versions_; }

  // `bundle` must hold exactly the plan to run.
  absl::StatusOr<sassay::worker::RunnerReply> Load(const sassay::v1::Bundle& bundle, sassay::worker::RunMode mode);
  // Hands over the judge's memory; a region's object is the descriptor at region.memory() of all that have come. TIMED:
  // one of several sets of the plan's tensors.
  absl::StatusOr<sassay::worker::RunnerReply> Bind(absl::Span<const sassay::worker::SharedRegion> regions,
                                                   absl::Span<const int> descriptors, uint32_t set = 0);
  absl::StatusOr<sassay::worker::RunnerReply> Setup(uint64_t poison_seed, absl::Duration device_deadline);
  // `left_out`: the launch that this call does without; none by default.
  absl::StatusOr<sassay::worker::RunnerReply> Steady(uint64_t poison_seed, absl::Duration device_deadline,
                                                     absl::optional<uint32_t> left_out = absl::nullopt);
  // TIMED: calls back to back, and a block of samples (deadlines are those of the requests).
  absl::StatusOr<sassay::worker::RunnerReply> WarmUp(const sassay::worker::WarmUp& warm_up);
  absl::StatusOr<sassay::worker::RunnerReply> Time(const sassay::worker::TimeBlock& block);

  void Kill() { process_->Kill(); }
  // Waits until the process itself has ended: then the driver has taken its context away, and a kernel that hung.
  // Whether it has; false as well where the runner could not say how that is known.
  bool KillAndAwaitEnd(absl::Time deadline);
  WorkerProcess& process() { return *process_; }
  // Its own process as this one counts; that of its sandbox if it is not registered.
  pid_t pid() const { return entry_ != nullptr ? entry_->pid() : process_->pid(); }
  // It was found to have ended while nobody asked it anything.
  void NoteDeath(absl::string_view reason) {
    if (entry_ != nullptr) entry_->Lost(Happening::kDied, reason);
  }

 private:
  // An answer is due after `due`; the runner is given up `grace` later.
  absl::StatusOr<sassay::worker::RunnerReply> Ask(const sassay::worker::RunnerRequest& request,
                                                  absl::Span<const int> descriptors, absl::Duration due,
                                                  absl::Duration grace = absl::ZeroDuration());
  void NoteLoss(const absl::Status& status);

  std::unique_ptr<WorkerProcess> process_;
  std::unique_ptr<LiveRunners::Entry> entry_;  // null where nobody watches
  UniqueFd ended_;                             // readable when it has; not valid where the runner could not say
  sassay::v1::Versions versions_;
};

// Cuts what a runner may say: every list and every text.
void BoundReply(sassay::worker::RunnerReply& reply);

// The candidate's bundle with only the plan for `workload`, as Load wants it. NOT_FOUND names the plans that exist.
absl::StatusOr<sassay::v1::Bundle> WithOnlyPlan(const sassay::v1::Bundle& bundle, absl::string_view workload);

}  // namespace sassay::wire

#endif  // SASSAY_PROFILER_SERVICE_WIRE_RUNNER_CLIENT_H_
