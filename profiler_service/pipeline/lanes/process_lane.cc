#include "profiler_service/pipeline/lanes/process_lane.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/diagnose/core_dump.h"
#include "profiler_service/diagnose/ncu.h"

namespace sassay::pipeline {
namespace {

using sassay::worker::RunMode;
using sassay::worker::RunnerReply;

// What the driver may take to end a kernel that hangs, with its context: 0.1 s, as a rule.
constexpr absl::Duration kHangEnds = absl::Seconds(5);

// A runner of the pool within reach of the job's kill switch. Who has seen it hang goes on when it is gone.
class PooledRunner : public evaluate::CandidateRunner {
 public:
  // Where a candidate goes wrong on it, `troubled` becomes its process.
  PooledRunner(std::unique_ptr<wire::RunnerClient> runner, wire::KillSwitch& kill_switch, uint32_t& troubled)
      : runner_(std::move(runner)), guard_(&kill_switch, *runner_), troubled_(troubled) {}

  ~PooledRunner() override {
    if (hangs_) runner_->KillAndAwaitEnd(SteadyNow() + kHangEnds);
  }

  absl::StatusOr<RunnerReply> Load(const sassay::v1::Bundle& bundle, RunMode mode) override {
    return runner_->Load(bundle, mode);
  }
  absl::StatusOr<RunnerReply> Bind(absl::Span<const sassay::worker::SharedRegion> regions,
                                   absl::Span<const int> descriptors) override {
    return runner_->Bind(regions, descriptors);
  }
  absl::StatusOr<RunnerReply> Setup(uint64_t poison_seed, absl::Duration device_deadline) override {
    return Noted(runner_->Setup(poison_seed, device_deadline));
  }
  absl::StatusOr<RunnerReply> Steady(uint64_t poison_seed, absl::Duration device_deadline,
                                     absl::optional<uint32_t> left_out) override {
    return Noted(runner_->Steady(poison_seed, device_deadline, left_out));
  }
  sassay::v1::Versions versions() const override { return runner_->versions(); }
  void Kill() override { runner_->Kill(); }

 private:
  absl::StatusOr<RunnerReply> Noted(absl::StatusOr<RunnerReply> reply) {
    hangs_ = reply.ok() && reply->outcome() == sassay::worker::RUN_OUTCOME_TIMEOUT;
    const bool faulted = reply.ok() && reply->outcome() == sassay::worker::RUN_OUTCOME_FAULT;
    if (hangs_ || faulted) troubled_ = static_cast<uint32_t>(runner_->pid());
    return reply;
  }

  bool hangs_ = false;
  const std::unique_ptr<wire::RunnerClient> runner_;
  const wire::KillSwitch::Guard guard_;  // after the runner, so that it goes first
  uint32_t& troubled_;
};

// The judge as one job sees it: waiting ends when the job is cancelled.
class JobsJudge : public evaluate::JudgePort {
 public:
  JobsJudge(JudgeSupervisor& judge, wire::KillSwitch& kill_switch) : judge_(judge), kill_switch_(kill_switch) {}

  absl::StatusOr<sassay::worker::JudgeReply> Ask(const sassay::worker::JudgeRequest& request,
                                                 std::vector<UniqueFd>& descriptors, absl::Time deadline) override {
    return judge_.Ask(request, descriptors, deadline, &kill_switch_);
  }
  void Drop(uint64_t case_id) override { judge_.Drop(case_id); }
  uint64_t NewCase() override { return judge_.NewCase(); }

 private:
  JudgeSupervisor& judge_;
  wire::KillSwitch& kill_switch_;
};

class PooledWorkers : public evaluate::Workers {
 public:
  PooledWorkers(const std::string& specification, JudgeSupervisor& judge, wire::RunnerPool& pool,
                wire::KillSwitch& kill_switch)
      : specification_(specification), judge_(judge, kill_switch), pool_(pool), kill_switch_(kill_switch) {}

  absl::StatusOr<std::unique_ptr<evaluate::CandidateRunner>> StartRunner(RunMode mode, absl::Time deadline) override {
    ASSIGN_OR_RETURN(std::unique_ptr<wire::RunnerClient> runner,
                     pool_.Acquire(specification_, mode, deadline, &kill_switch_));
    return std::unique_ptr<evaluate::CandidateRunner>(
        std::make_unique<PooledRunner>(std::move(runner), kill_switch_, troubled_));
  }
  evaluate::JudgePort& judge() override { return judge_; }
  uint32_t troubled_runner() const override { return troubled_; }

 private:
  const std::string& specification_;
  JobsJudge judge_;
  wire::RunnerPool& pool_;
  wire::KillSwitch& kill_switch_;
  uint32_t troubled_ = 0;
};

// What the judge may hold is not the jobs' to lease.
uint64_t MemoryForJobs(const sassay::worker::DeviceDescription& device) {
  return device.memory_bytes() - std::min(device.memory_bytes(), device.judge_bytes());
}

}  // namespace

ProcessLane::ProcessLane(std::string specification, std::unique_ptr<JudgeSupervisor> judge, wire::RunnerPool& pool,
                         LaneTools tools, uint32_t spares, uint32_t seats)
    : Lane(MemoryForJobs(judge->device()), seats),
      specification_(std::move(specification)),
      judge_(std::move(judge)),
      pool_(pool),
      tools_(std::move(tools)) {
  pool_.Keep(specification_, sassay::worker::RUN_MODE_PLAIN, spares);
  // CUPTI takes 0.1 s to start, beside the context's 0.3 s.
  if (judge_->device().kind() == "cuda") {
    pool_.Keep(specification_, sassay::worker::RUN_MODE_COUNTED, std::min(spares, 1u));
    pool_.Keep(specification_, sassay::worker::RUN_MODE_TIMED, std::min(spares, 1u));
  }
}

std::unique_ptr<evaluate::Workers> ProcessLane::MakeWorkers(wire::KillSwitch& kill_switch) {
  return std::make_unique<PooledWorkers>(specification_, *judge_, pool_, kill_switch);
}

absl::StatusOr<sanitize::Sanitization> ProcessLane::Sanitize(const sanitize::SanitizeRequest& request) {
  return sanitize::Sanitize(request, pool_, tools_.compute_sanitizer);
}

absl::StatusOr<diagnose::Diagnosed> ProcessLane::Diagnose(sassay::v1::Diagnosis kind, const wire::CandidateRun& run) {
  if (kind == sassay::v1::DIAGNOSIS_NCU) return diagnose::ProfileWithNcu(run, pool_, tools_.ncu);
  if (kind == sassay::v1::DIAGNOSIS_DEBUG) {
    return diagnose::DebugFault(run, pool_, {tools_.cuda_gdb, tools_.compute_sanitizer});
  }
  return diagnose::Unavailable(absl::StrCat("a device cannot give ", sassay::v1::Diagnosis_Name(kind)));
}

std::unique_ptr<wire::RunnerPool::NoRefill> ProcessLane::HoldRefill() {
  return std::make_unique<wire::RunnerPool::NoRefill>(pool_, specification_);
}

absl::StatusOr<verdict::TimingSeen> ProcessLane::Time(const timing::TimingRequest& request) {
  return timing::Time(request, pool_);
}

absl::Status ProcessLane::Probe(absl::Time deadline, wire::KillSwitch* kill_switch) {
  // A judge that died is started again; dropping a case that never was takes it no time.
  sassay::worker::JudgeRequest nothing;
  nothing.mutable_drop();
  std::vector<UniqueFd> none;
  RETURN_IF_ERROR(judge_->Ask(nothing, none, deadline, kill_switch).status());
  return pool_.Confirm(specification_, sassay::worker::RUN_MODE_PLAIN, deadline, kill_switch);
}

uint32_t ProcessLane::EndWorkers(absl::string_view why) {
  judge_->Restart(why);
  return pool_.EndAll(specification_, why);
}

absl::StatusOr<sassay::v1::RunCanaryResponse> ProcessLane::RunCanary(absl::Time deadline) {
  const wire::RunnerPool::Quiet quiet(pool_, specification_);
  sassay::worker::JudgeRequest request;
  request.set_case_id(judge_->NewCase());
  request.mutable_canary();
  std::vector<UniqueFd> none;
  const auto reply = judge_->Ask(request, none, deadline);
  if (!reply.ok()) return absl::UnavailableError(reply.status().message());
  if (reply->trouble() == sassay::worker::JUDGE_TROUBLE_WRONG_RESULT) return absl::DataLossError(reply->error());
  if (!reply->error().empty()) return absl::UnavailableError(absl::StrCat("no canary: ", reply->error()));
  return reply->canary();
}

void ProcessLane::FeelPulse(sassay::v1::GpuPulse& pulse) {
  pulse.set_judge_pid(static_cast<uint32_t>(judge_->pid()));
  pulse.set_judge_silent_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(judge_->Silence())));
  const wire::RunnersSeen runners = pool_.live().Look(specification_);
  pulse.set_runner_overdue_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(runners.overdue)));
  for (const pid_t pid : runners.pids) pulse.add_runner_pids(static_cast<uint32_t>(pid));
}

uint32_t ProcessLane::troubled_runner() const {
  return static_cast<uint32_t>(pool_.live().last_troubled(specification_));
}

}  // namespace sassay::pipeline
