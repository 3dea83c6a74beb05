// What the loop itself costs: time for each turn, and memory for 500 trajectories in flight. Provider and judge are
// instant or held; logs, threads, extraction, feedback and durable writes are the real ones.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "agent/rollout/rollout.h"
#include "agent/trajectory/layout.h"
#include "common/base/files.h"
#include "common/base/steady_time.h"
#include "common/process/memory_use.h"
#include "common/workload/catalog.h"

namespace sassay::agent {
namespace {

constexpr size_t kAnswerBytes = 40'000;
constexpr size_t kReasoningBytes = 100'000;
constexpr size_t kPromptBytes = 90'000;

std::string Filled(size_t bytes) {
  std::string text;
  while (text.size() < bytes) absl::StrAppend(&text, "  acc[", text.size(), "] += a * b;  // the next tile\n");
  return text;
}

// Answers of a usual size, after `think`.
class BenchModel final : public Model {
 public:
  explicit BenchModel(absl::Duration think) : think_(think) {}
  absl::StatusOr<v1::Answered> Generate(const GenerationRequest& request, const GenerationListener&,
                                        Stopper& stopper) override {
    if (!stopper.Sleep(think_)) return absl::CancelledError("stopped");
    v1::Answered answered;
    answered.set_turn(request.turn);
    answered.set_text(absl::StrCat("```cuda\n// ", request.idempotency_key, "\n", code_, "void run() {}\n```\n"));
    answered.set_reasoning(reasoning_);
    answered.set_finish_reason("stop");
    return answered;
  }

 private:
  const absl::Duration think_;
  const std::string code_ = Filled(kAnswerBytes);
  const std::string reasoning_ = Filled(kReasoningBytes);
};

// Verdicts with as many samples as a timing has; one GPU that judges one at a time, if `judging` is not zero.
class BenchJudge final : public Judge {
 public:
  BenchJudge(absl::Duration judging, bool exclusive) : judging_(judging), exclusive_(exclusive) {}
  absl::StatusOr<Judgement> Run(const JudgeJob& job, const JudgeListener& listener, Stopper& stopper) override {
    v1::Submitted submitted;
    submitted.set_request_id(job.request_id);
    if (const absl::Status status = listener.on_built(submitted); !status.ok()) return status;
    if (!(exclusive_ ? HoldGpu(stopper) : stopper.Sleep(judging_))) return absl::CancelledError("stopped");
    ++judged_;
    Judgement judgement;
    v1::Verdict& verdict = judgement.verdict;
    verdict.set_status(v1::VERDICT_STATUS_CORRECT);
    verdict.set_submission_id(job.request_id);
    verdict.mutable_timing()->set_status(v1::Timing::MEASURED);
    verdict.mutable_timing()->set_speedup(0.9);
    for (int i = 0; i < 400; ++i) {
      verdict.mutable_timing()->mutable_candidate()->add_samples_ns(1e6 + i);
      verdict.mutable_timing()->mutable_baseline()->add_samples_ns(1e6 - i);
    }
    return judgement;
  }
  void Close() override {}
  // Share of the time between the first and the last judging in which the GPU was held.
  double Busy() const {
    absl::MutexLock lock(&gpu_);
    return judged_ * absl::FDivDuration(judging_, last_ - first_);
  }

 private:
  bool HoldGpu(Stopper& stopper) {
    absl::MutexLock lock(&gpu_);
    first_ = std::min(first_, SteadyNow());
    const bool slept = stopper.Sleep(judging_);
    last_ = SteadyNow();
    return slept;
  }

  const absl::Duration judging_;
  const bool exclusive_;
  mutable absl::Mutex gpu_;
  absl::Time first_ ABSL_GUARDED_BY(gpu_) = absl::InfiniteFuture();
  absl::Time last_ ABSL_GUARDED_BY(gpu_);
  std::atomic<int> judged_ = 0;
};

// In a folder that may hold the run already: then it goes on.
absl::Duration RunIn(const std::filesystem::path& path, size_t trajectories, uint32_t turns, size_t parallel,
                     Model& model, Judge& judge) {
  v1::RunManifest manifest;
  manifest.set_run_id("bench");
  manifest.set_turn_limit(turns);
  manifest.set_context(v1::CONTEXT_POLICY_FULL);
  const bool resumed = std::filesystem::exists(ManifestPath(path));
  const auto folder = resumed ? *RunFolder::Open(path) : *RunFolder::Create(path, manifest);
  const v1::Workload workload = *WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=16");
  const auto system = std::make_shared<const std::string>(Filled(kPromptBytes));
  const auto user = std::make_shared<const std::string>("task");
  std::vector<TrajectorySpec> specs(trajectories);
  for (size_t i = 0; i < trajectories; ++i) {
    specs[i] = {i, &workload, system, user, {}};
    specs[i].began.set_trajectory_id(TrajectoryId(i));
    specs[i].began.set_workload(workload.name());
  }
  Board board(turns, [](absl::string_view) {});
  Spending spending(0, 0);
  RolloutOptions options;
  options.parallel = parallel;
  options.now = absl::Now;
  const absl::Time begin = SteadyNow();
  const absl::Status status =
      Rollout({*folder, model, judge, board, nullptr, nullptr, nullptr}, options, std::move(specs), spending).Run();
  if (!status.ok()) std::abort();
  return SteadyNow() - begin;
}

absl::Duration RunOnce(size_t trajectories, uint32_t turns, size_t parallel, Model& model, Judge& judge) {
  const auto directory = *TemporaryDirectory::Create("rollout_bench");
  return RunIn(directory.path() / "run", trajectories, turns, parallel, model, judge);
}

void PrintLoop() {
  BenchModel model(absl::ZeroDuration());
  BenchJudge judge(absl::ZeroDuration(), false);
  constexpr uint32_t kTurns = 8;
  constexpr size_t kTrajectories = 20;
  const absl::Duration took = RunOnce(kTrajectories, kTurns, 1, model, judge);
  std::printf("loop: %.2f ms a turn (%zu trajectories x %u turns, one answer at a time)\n",
              absl::ToDoubleMilliseconds(took) / (kTrajectories * kTurns), kTrajectories, kTurns);
}

void PrintOverlap() {
  constexpr double kScale = 0.1;
  BenchModel model(absl::Seconds(3) * kScale);
  BenchJudge judge(absl::Seconds(2) * kScale, true);
  const absl::Duration took = RunOnce(8, 8, 8, model, judge);
  std::printf(
      "overlap: 3 s generator, 2 s profile, 8 trajectories x 8 turns, times scaled by %.2f: GPU busy %.1f %%, "
      "%.2f s in all\n",
      kScale, 100 * judge.Busy(), absl::ToDoubleSeconds(took));
}

// Forgets the peak so far (proc(5), clear_refs).
void ForgetPeak() { std::ofstream("/proc/self/clear_refs") << "5"; }

void PrintMemory() {
  const auto directory = *TemporaryDirectory::Create("rollout_bench");
  constexpr size_t kTrajectories = 500;
  constexpr uint32_t kTurns = 8;
  const uint64_t before = MemoryUse(getpid(), "VmRSS");
  BenchModel model(absl::Milliseconds(200));
  BenchJudge judge(absl::Milliseconds(200), false);
  ForgetPeak();
  absl::Duration took = RunIn(directory.path() / "run", kTrajectories, kTurns, kTrajectories, model, judge);
  std::printf(
      "memory: %zu trajectories in flight x %u turns, answers of %zu KB and reasoning of %zu KB: peak %.0f MiB "
      "resident (%.0f MiB before), %.1f s\n",
      kTrajectories, kTurns, kAnswerBytes / 1000, kReasoningBytes / 1000, MemoryUse(getpid(), "VmHWM") / 1048576.0,
      before / 1048576.0, absl::ToDoubleSeconds(took));
  malloc_trim(0);
  ForgetPeak();
  took = RunIn(directory.path() / "run", kTrajectories, kTurns + 1, kTrajectories, model, judge);
  std::printf("memory: the same run resumed: peak %.0f MiB resident, %.1f s\n",
              MemoryUse(getpid(), "VmHWM") / 1048576.0, absl::ToDoubleSeconds(took));
}

}  // namespace
}  // namespace sassay::agent

int main() {
  sassay::agent::PrintLoop();
  sassay::agent::PrintOverlap();
  sassay::agent::PrintMemory();
  return 0;
}
