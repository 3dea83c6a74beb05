// What a whole run costs: the real agent, the real service on one emulated device, a model's real HTTP server.
//
//   rollouts_bench [overlap] [own_kernels] [loop] [memory]     all of it without a word
//
// docs/measurements/2026-11-rollouts.md has what it printed.
//
// Times are not scaled. The device is held by one candidate at a time (`--exclusive`), and what it did is read from the
// service's own records: how long each evaluation held it, and when that ended.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "agent/models/testing/scripted_server.h"
#include "agent/submit/connection.h"
#include "agent/submit/submission.h"
#include "agent/trajectory/json_form.h"
#include "agent/trajectory/layout.h"
#include "agent/trajectory/trajectory.h"
#include "common/base/files.h"
#include "common/base/proto_time.h"
#include "common/base/steady_time.h"
#include "common/process/memory_use.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using v1::TrajectoryRecord;

constexpr char kWorkload[] = "gemm_n256_k256/M=8";

// A right kernel that also counts: thread 0 of each block goes round `rounds` times. Each salt makes another binary.
constexpr char kKernel[] = R"(#include <cuda_bf16.h>
#include <cstdint>
__global__ void Gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned burnt = SALTu;
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    for (int i = 0; i < ROUNDS; ++i) asm volatile("mad.lo.u32 %0, %0, 1664525, 1013904223;" : "+r"(burnt));
  }
  if (row >= m || column >= 256) return;
  float sum = burnt == 1 ? 1e-30f : 0.f;
  for (int k = 0; k < 256; ++k) sum += __bfloat162float(a[row * 256 + k]) * __bfloat162float(b[column * 256 + k]);
  c[row * 256 + column] = __float2bfloat16(sum);
}
extern "C" void run(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int64_t M, cudaStream_t stream) {
  Gemm<<<dim3(16, (static_cast<unsigned>(M) + 15) / 16), dim3(16, 16), 0, stream>>>(A, B, C, static_cast<int>(M));
}
)";

std::string Kernel(uint64_t rounds, size_t salt) {
  return absl::StrReplaceAll(kKernel, {{"ROUNDS", absl::StrCat(rounds)}, {"SALT", absl::StrCat(salt)}});
}

std::string Answer(uint64_t rounds, size_t salt) {
  return absl::StrCat("Counting further.\n```cuda\n", Kernel(rounds, salt), "```\n");
}

// What cannot be measured ends the bench.
template <typename T>
T Must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "rollouts_bench: %s\n", value.status().ToString().c_str());
  std::exit(1);
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// A service, a model's server and a folder for runs.
class Bench {
 public:
  explicit Bench(agent::Script script) {
    agent::ScriptedServerOptions options;
    options.keeps_bodies = false;
    model_ = Must(agent::ScriptedServer::Start(std::move(script), options));
  }
  fs::path folder() const { return directory_.path() / "run"; }
  const agent::ScriptedServer& model() const { return *model_; }
  const Service& service() const { return *service_; }

  // The agent's greatest resident size in bytes, as /proc told it last.
  uint64_t Run(size_t trajectories, uint32_t turns, size_t parallel) {
    std::vector<std::string> arguments = {"run",
                                          "--workload",
                                          kWorkload,
                                          "--model",
                                          "scripted",
                                          "--endpoint",
                                          model_->url(),
                                          "--turns",
                                          absl::StrCat(turns),
                                          "--trajectories",
                                          absl::StrCat(trajectories),
                                          "--parallel",
                                          absl::StrCat(parallel),
                                          "--stages",
                                          "evaluate",
                                          "-o",
                                          folder().string(),
                                          "--service",
                                          service_->address(),
                                          "--json"};
    auto process = Must(Subprocess::Start(AgentCommand(arguments, directory_.path() / "home")));
    uint64_t most = 0;
    while (!process.Wait(absl::Now() + absl::Milliseconds(200)).ok())
      most = std::max(most, MemoryUse(process.pid(), "VmHWM"));
    const ExitReport report = Must(process.Wait(absl::InfiniteFuture()));
    if (!report.Succeeded()) Must<int>(absl::InternalError(absl::StrCat("the agent ", DescribeExit(report))));
    return most;
  }

 private:
  TemporaryDirectory directory_ = Must(TemporaryDirectory::Create("rollouts_bench"));
  std::unique_ptr<Service> service_ = Must(Service::Start("", {"--exclusive"}));
  std::unique_ptr<agent::ScriptedServer> model_;
};

// One evaluation, as the service tells it.
struct Evaluation {
  absl::Time accepted, begun, ended, verdict;
  absl::Duration device;
};

Evaluation EvaluationOf(agent::Connection& connection, const std::string& submission_id) {
  Evaluation evaluation;
  agent::SubmissionListener listener;
  listener.on_event = [&](const v1::Event& event) {
    if (event.has_accepted()) evaluation.accepted = TimeOf(event.at());
    if (event.has_verdict()) evaluation.verdict = TimeOf(event.at());
    if (event.has_stage_started() && event.stage_started().stage() == v1::STAGE_EVALUATE)
      evaluation.begun = TimeOf(event.at());
    if (!event.has_stage_finished() || event.stage_finished().report().stage() != v1::STAGE_EVALUATE) return;
    evaluation.ended = TimeOf(event.at());
    evaluation.device = absl::Nanoseconds(event.stage_finished().report().device_ns());
  };
  Stopper stopper;
  agent::Submission submission(connection, {}, stopper, listener);
  Must(submission.Attach(submission_id));
  return evaluation;
}

// By the time at which they ended.
std::vector<Evaluation> EvaluationsOf(const Bench& bench) {
  const auto connection = Must(agent::Connection::Open({bench.service().address()}));
  std::vector<Evaluation> evaluations;
  const agent::Run run = Must(agent::ReadRun(bench.folder()));
  for (const agent::Trajectory& trajectory : run.trajectories) {
    for (const agent::Turn& turn : trajectory.turns) {
      if (!agent::IsCorrect(turn)) Must<int>(absl::InternalError(turn.judged->verdict().ShortDebugString()));
      evaluations.push_back(EvaluationOf(*connection, turn.judged->verdict().submission_id()));
    }
  }
  std::sort(evaluations.begin(), evaluations.end(),
            [](const Evaluation& a, const Evaluation& b) { return a.ended < b.ended; });
  return evaluations;
}

double MedianDeviceSeconds(const std::vector<Evaluation>& evaluations) {
  std::vector<double> seconds;
  for (const Evaluation& one : evaluations) seconds.push_back(absl::ToDoubleSeconds(one.device));
  return Median(seconds);
}

// Rounds for two seconds on the device as the machine is now.
uint64_t Calibrate(absl::Duration aim) {
  uint64_t rounds = 200'000;
  for (size_t salt = 1; salt <= 2; ++salt) {
    Bench bench([&](const agent::AnswerRequest&) {
      agent::ScriptedAnswer answer;
      answer.text = Answer(rounds, salt);
      return answer;
    });
    bench.Run(1, 2, 1);
    rounds = static_cast<uint64_t>(static_cast<double>(rounds) * absl::ToDoubleSeconds(aim) /
                                   MedianDeviceSeconds(EvaluationsOf(bench)));
  }
  return rounds;
}

// `compiled_once`: all trajectories write the same kernels, so that after the first one compilers cost nothing: they
// run on the CPUs that are the device here, and a real one's would be other ones.
void PrintOverlap(uint64_t rounds, bool compiled_once) {
  constexpr size_t kTrajectories = 8;
  constexpr uint32_t kTurns = 5;
  Bench bench([&](const agent::AnswerRequest& request) {
    const size_t own = compiled_once ? 0 : std::hash<std::string>()(request.trajectory_id) % 1'000'000;
    agent::ScriptedAnswer answer;
    answer.text = Answer(rounds, 100 * (own + 1) + request.turn);
    answer.before_first = absl::Seconds(1);
    answer.duration = absl::Seconds(2);
    return answer;
  });
  const absl::Time begin = SteadyNow();
  bench.Run(kTrajectories, kTurns, kTrajectories);
  const double wall = absl::ToDoubleSeconds(SteadyNow() - begin);
  const std::vector<Evaluation> evaluations = EvaluationsOf(bench);
  absl::Duration busy;
  for (size_t i = 1; i < evaluations.size(); ++i) busy += evaluations[i].device;
  const absl::Duration window = evaluations.back().ended - evaluations.front().ended;
  std::printf(
      "overlap, %s: 3 s generator, %.2f s profile (median), %zu trajectories x %u turns: the device computed %.1f %% "
      "of "
      "the %.1f s from the first evaluation's end to the last one's; %.1f s in all\n",
      compiled_once ? "each kernel compiled once" : "each turn a kernel of its own", MedianDeviceSeconds(evaluations),
      kTrajectories, kTurns, 100 * absl::FDivDuration(busy, window), absl::ToDoubleSeconds(window), wall);
}

// Records of the first trajectory, in order.
std::vector<TrajectoryRecord> RecordsOf(const fs::path& run) {
  std::vector<TrajectoryRecord> records;
  const std::string log = Must(ReadFile(agent::LogPath(run, agent::TrajectoryId(0))));
  for (absl::string_view line : absl::StrSplit(log, '\n', absl::SkipEmpty()))
    records.push_back(Must(agent::ParseRecord(line)));
  return records;
}

void PrintLoop() {
  constexpr uint32_t kTurns = 12;
  Bench bench([](const agent::AnswerRequest& request) {
    agent::ScriptedAnswer answer;
    answer.text = Answer(1, request.turn);
    return answer;
  });
  bench.Run(1, kTurns, 1);
  const auto connection = Must(agent::Connection::Open({bench.service().address()}));
  std::vector<double> loop, way;
  absl::Time asked = absl::InfiniteFuture();
  absl::Duration answer, judging;
  for (const TrajectoryRecord& record : RecordsOf(bench.folder())) {
    if (record.has_answered()) answer = absl::Seconds(SecondsOf(record.answered().wall()));
    if (record.has_submitted())
      judging = -absl::Seconds(SecondsOf(record.submitted().compile()) + SecondsOf(record.submitted().capture()));
    if (record.has_judged()) {
      const Evaluation service = EvaluationOf(*connection, record.judged().verdict().submission_id());
      const absl::Duration wall = absl::Seconds(SecondsOf(record.judged().wall()));
      way.push_back(absl::ToDoubleMilliseconds(judging + wall - (service.verdict - service.accepted)));
      judging = wall;
    }
    if (!record.has_asked() && !record.has_ended()) continue;
    const absl::Time at = TimeOf(record.at());
    if (asked != absl::InfiniteFuture()) loop.push_back(absl::ToDoubleMilliseconds(at - asked - answer - judging));
    asked = at;
  }
  std::printf(
      "loop: %.2f ms a turn besides the answer and the judging (median of %zu; most %.2f), and %.2f ms of a judging "
      "are neither compiler, capture nor service (most %.2f)\n",
      Median(loop), loop.size(), *std::max_element(loop.begin(), loop.end()), Median(way),
      *std::max_element(way.begin(), way.end()));
}

void PrintMemory() {
  constexpr size_t kTrajectories = 500;
  constexpr uint32_t kTurns = 8;
  constexpr size_t kTextBytes = 40'000, kReasoningBytes = 100'000;
  Bench bench([](const agent::AnswerRequest& request) {
    agent::ScriptedAnswer answer;
    // One answer in twenty holds a kernel, so that compilers and device do not decide how long this takes.
    const size_t place = std::hash<std::string>()(request.trajectory_id) + request.turn;
    if (place % 20 == 0) answer.text = Answer(1, request.turn);
    while (answer.text.size() < kTextBytes) absl::StrAppend(&answer.text, "What ", request.idempotency_key, " does.\n");
    answer.reasoning = std::string(kReasoningBytes, 'r');
    // All are under way before the first one ends.
    answer.before_first = absl::Seconds(5);
    answer.duration = absl::Seconds(5);
    answer.piece_bytes = 1000;
    return answer;
  });
  const absl::Time begin = SteadyNow();
  const uint64_t most = bench.Run(kTrajectories, kTurns, kTrajectories);
  std::printf(
      "memory: %zu trajectories x %u turns, --context full, answers of %zu KB and reasoning of %zu KB over HTTP, %u at "
      "once: the agent's peak is %.0f MiB (VmHWM), %.0f s in all\n",
      kTrajectories, kTurns, kTextBytes / 1000, kReasoningBytes / 1000, bench.model().MostAtOnce(),
      static_cast<double>(most) / (1 << 20), absl::ToDoubleSeconds(SteadyNow() - begin));
}

}  // namespace
}  // namespace sassay::testing

int main(int argc, char** argv) {
  std::set<std::string> words(argv + 1, argv + argc);
  const auto wanted = [&](const char* word) { return words.empty() || words.count(word) > 0; };
  setvbuf(stdout, nullptr, _IOLBF, 0);
  if (wanted("overlap") || wanted("own_kernels")) {
    const uint64_t rounds = sassay::testing::Calibrate(absl::Seconds(2));
    if (wanted("overlap")) sassay::testing::PrintOverlap(rounds, /*compiled_once=*/true);
    if (wanted("own_kernels")) sassay::testing::PrintOverlap(rounds, /*compiled_once=*/false);
  }
  if (wanted("loop")) sassay::testing::PrintLoop();
  if (wanted("memory")) sassay::testing::PrintMemory();
  return 0;
}
