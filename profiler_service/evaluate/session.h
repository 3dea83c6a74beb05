// A candidate in a runner, with the judge's buffers: the steps that evaluate, sanitize and evidence have in common.
#ifndef SASSAY_PROFILER_SERVICE_EVALUATE_SESSION_H_
#define SASSAY_PROFILER_SERVICE_EVALUATE_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "profiler_service/evaluate/judge_case.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/verdict/observations.h"
#include "profiler_service/wire/worker.pb.h"

namespace sassay::evaluate {

// One runner and one case of the judge.
//
// Life cycle: Open, then (Fill, Steady, Compare) as often as wanted; after a failure give it up. Destruction kills the
// runner first and then frees the judge's memory. Threads: thread-compatible. Failure: MaybeFailure; its code tells the
// candidate's fault from ours (RUNNER_LOST, JUDGE_LOST, EMULATOR_LACKS, INTERNAL, CANCELLED_BY_CLIENT).
class CandidateSession {
 public:
  CandidateSession(const StageContext& context, sassay::worker::RunMode mode)
      : context_(context), mode_(mode), case_(context.bundle, context.workers.judge(), context.deadline) {}
  CandidateSession(const CandidateSession&) = delete;
  CandidateSession& operator=(const CandidateSession&) = delete;

  // Starts a runner, loads the module, hands over buffers with decoy inputs and replays the plan's setup.
  MaybeFailure Open(uint64_t decoy_seed, uint64_t poison_seed);
  // New inputs; outputs and guards are poisoned.
  MaybeFailure Fill(uint64_t seed, absl::string_view distribution) { return case_.Fill(seed, distribution); }
  // The same, and other bytes in the guard bands; after a Compare only.
  MaybeFailure FillAnew(uint64_t seed, absl::string_view distribution) { return case_.FillAnew(seed, distribution); }
  // One call.
  MaybeFailure Steady(uint64_t poison_seed);
  // One call without a launch, by its position among the launches of a call, and within `deadline`. What comes of it
  // says nothing about the candidate.
  MaybeFailure SteadyWithout(uint32_t launch, uint64_t poison_seed, absl::Duration deadline);
  // Reads back. Guard bands and modified inputs are in the reply, not failures.
  MaybeFailure Compare(sassay::worker::JudgeReply& reply) { return case_.Compare(reply); }
  // The outputs become the reference (this session runs the workload's approved kernel).
  MaybeFailure Adopt() { return case_.Adopt(); }

  // The runner's latest answer; bounded by the client, and still the word of a process that ran candidate code.
  const sassay::worker::RunnerReply& reply() const { return reply_; }
  // COUNTED on CUDA: what the runner said about counting once the module was loaded, before any code of the candidate
  // had run.
  const sassay::worker::SassCounts& counting() const { return counting_; }
  const std::string& device_output() const { return device_output_; }
  uint64_t device_ns() const { return device_ns_; }
  // The latest request to the runner ran launches of the candidate and did not end well.
  bool launching() const { return launching_; }
  // Valid after Open has got as far as a runner.
  const sassay::v1::Versions& versions() const { return versions_; }

 private:
  MaybeFailure TakeReply(const absl::StatusOr<sassay::worker::RunnerReply>& reply);
  MaybeFailure TakeLaunchReply(const absl::StatusOr<sassay::worker::RunnerReply>& reply);
  absl::Duration DeviceDeadline(absl::Duration most);

  const StageContext& context_;
  const sassay::worker::RunMode mode_;
  JudgeCase case_;
  std::unique_ptr<CandidateRunner> runner_;
  sassay::worker::RunnerReply reply_;
  sassay::worker::SassCounts counting_;
  sassay::v1::Versions versions_;
  std::string device_output_;
  uint64_t device_ns_ = 0;
  bool launching_ = false;
  absl::Duration given_;  // the latest request's deadline
};

// What the judge finds wrong with a call that it compared, in a line; empty if nothing.
std::string WrongIn(const sassay::worker::JudgeReply& reply);

// What a runner's reply says about the candidate; nothing if it went well.
MaybeFailure FailureOf(const sassay::worker::RunnerReply& reply);

}  // namespace sassay::evaluate

#endif  // SASSAY_PROFILER_SERVICE_EVALUATE_SESSION_H_
