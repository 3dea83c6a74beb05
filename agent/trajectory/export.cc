#include "agent/trajectory/export.h"

#include <algorithm>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "agent/trajectory/layout.h"
#include "agent/trajectory/trajectory.h"
#include "common/base/files.h"
#include "common/base/proto_json.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// As the peer's tools know them; what only we tell apart keeps our word.
std::string EventOf(const Turn& turn) {
  if (!turn.judged.has_value()) return "NO_CODE";
  const v1::VerdictStatus status = turn.judged->verdict().status();
  return status == v1::VERDICT_STATUS_CORRECT ? "PASSED" : EnumName(status);
}

Json UsageJson(const v1::Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens()},
          {"completion_tokens", usage.completion_tokens()},
          {"total_tokens", usage.prompt_tokens() + usage.completion_tokens()},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_prompt_tokens()}}},
          {"completion_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens()}}}};
}

Json AssistantMessage(const Turn& turn, const std::string& source) {
  const v1::Answered& answered = *turn.answered;
  Json actions = Json::array();
  if (!source.empty()) actions.push_back({{"path", turn.extracted->path()}, {"content", source}});
  Json extra = {{"actions", std::move(actions)},
                {"response",
                 {{"id", answered.response_id()},
                  {"model", answered.model()},
                  {"finish_reason", answered.finish_reason()},
                  {"usage", UsageJson(answered.usage())}}},
                {"cost", answered.usage().cost_usd()},
                {"turn", turn.number},
                {"wall_seconds", SecondsOf(answered.wall())}};
  Json message = {{"role", "assistant"}, {"content", answered.text()}, {"extra", std::move(extra)}};
  if (!answered.reasoning().empty()) message["reasoning_content"] = answered.reasoning();
  return message;
}

// One trace of the turn: what tools look at for status, speed and instructions.
Json TraceOf(const v1::Verdict& verdict, double speedup) {
  Json trace = {{"workload", verdict.workload()},
                {"status", verdict.status() == v1::VERDICT_STATUS_CORRECT ? "PASSED" : EnumName(verdict.status())},
                {"code", EnumName(verdict.code())},
                {"reason", verdict.reason()},
                {"scorable", verdict.scorable()},
                {"submission_id", verdict.submission_id()},
                {"sass", EnumName(verdict.evidence().status())}};
  if (speedup > 0) {
    trace["performance"] = {{"latency_ms", verdict.timing().candidate().median_ns() * 1e-6},
                            {"reference_latency_ms", verdict.timing().baseline().median_ns() * 1e-6},
                            {"speedup_factor", speedup}};
  }
  return trace;
}

Json FeedbackMessage(const Turn& turn, double target) {
  const std::optional<double> speedup = SpeedupOf(turn);
  Json traces = Json::array();
  if (turn.judged.has_value()) traces.push_back(TraceOf(turn.judged->verdict(), speedup.value_or(0)));
  const std::string text = turn.feedback.has_value() ? turn.feedback->text() : "";
  Json extra = {{"raw_output", text},
                {"returncode", IsCorrect(turn) ? 0 : 1},
                {"event", EventOf(turn)},
                {"traces", std::move(traces)},
                {"all_passed", IsCorrect(turn)},
                {"min_speedup", speedup.has_value() ? Json(*speedup) : Json()},
                {"target_met", target > 0 && IsScorable(turn) && speedup.value_or(0) >= target}};
  return {{"role", "user"}, {"content", text}, {"extra", std::move(extra)}};
}

bool IsDecided(const Turn& turn) { return turn.judged.has_value() || turn.feedback.has_value(); }

// Sources of one trajectory, by turn; empty where a turn holds no candidate.
absl::StatusOr<std::vector<std::string>> Sources(const fs::path& run, const Trajectory& trajectory) {
  std::vector<std::string> sources;
  for (const Turn& turn : trajectory.turns) {
    absl::StatusOr<std::string> source = ReadSource(run, trajectory, turn);
    if (!source.ok() && !absl::IsNotFound(source.status())) return source.status();
    sources.push_back(source.ok() ? *std::move(source) : "");
  }
  return sources;
}

// The best correct turn; null where there is none.
const Turn* BestOf(const Trajectory& trajectory) {
  const Turn* best = nullptr;
  for (const Turn& turn : trajectory.turns) {
    if (!IsCorrect(turn)) continue;
    if (best == nullptr || SpeedupOf(turn).value_or(0) > SpeedupOf(*best).value_or(0)) best = &turn;
  }
  return best;
}

Json ExitMessage(const Trajectory& trajectory, const std::vector<std::string>& sources) {
  const Turn* best = BestOf(trajectory);
  const std::string status = trajectory.ended.has_value() ? EnumName(trajectory.ended->end()) : "UNFINISHED";
  const std::optional<double> speedup = best != nullptr ? SpeedupOf(*best) : std::nullopt;
  Json extra = {{"exit_status", status},
                {"submission", best != nullptr ? sources[best->number] : ""},
                {"min_speedup", speedup.has_value() ? Json(*speedup) : Json()}};
  return {{"role", "exit"}, {"content", status}, {"extra", std::move(extra)}};
}

Json InfoOf(const Trajectory& trajectory, const v1::RunManifest& manifest) {
  double cost = 0;
  uint32_t calls = 0;
  for (const auto* turns : {&trajectory.turns, &trajectory.taken_back}) {
    for (const Turn& turn : *turns) {
      if (!turn.answered.has_value()) continue;
      cost += turn.answered->usage().cost_usd();
      ++calls;
    }
  }
  return {{"config",
           {{"model", {{"model_name", manifest.model()}}},
            {"agent", {{"step_limit", manifest.turn_limit()}, {"target_speedup", manifest.target_speedup()}}},
            {"run",
             {{"run_id", manifest.run_id()},
              {"label", manifest.label()},
              {"language", manifest.language()},
              {"arch", manifest.arch()},
              {"workload", trajectory.began.workload()},
              {"prompt", trajectory.began.prompt()},
              {"sassay_version", manifest.sassay_version()}}}}},
          {"model_stats", {{"instance_cost", cost}, {"api_calls", calls}}}};
}

std::string Text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

absl::Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("cannot make ", path.string(), ": ", error.message(), "."));
}

// One trajectory's files.
class Exporter {
 public:
  Exporter(const fs::path& run, const fs::path& output, const v1::RunManifest& manifest, const Trajectory& trajectory)
      : run_(run), output_(output), manifest_(manifest), trajectory_(trajectory) {}

  absl::Status Write(ExportCounts& counts) {
    ASSIGN_OR_RETURN(sources_, Sources(run_, trajectory_));
    RETURN_IF_ERROR(WriteTrajectory());
    RETURN_IF_ERROR(WriteKernels(counts));
    ++counts.trajectories;
    return WriteExcluded(counts);
  }

 private:
  const std::string& id() const { return trajectory_.began.trajectory_id(); }

  absl::Status WriteTrajectory() {
    ASSIGN_OR_RETURN(const std::string system, ReadPrompt(run_, trajectory_.began.system_sha256()));
    ASSIGN_OR_RETURN(const std::string user, ReadPrompt(run_, trajectory_.began.user_sha256()));
    Json messages = Json::array();
    messages.push_back({{"role", "system"}, {"content", system}});
    messages.push_back({{"role", "user"}, {"content", user}});
    for (const Turn& turn : trajectory_.turns) {
      if (!IsDecided(turn)) continue;
      messages.push_back(AssistantMessage(turn, sources_[turn.number]));
      messages.push_back(FeedbackMessage(turn, manifest_.target_speedup()));
    }
    messages.push_back(ExitMessage(trajectory_, sources_));
    const Json whole = {{"messages", std::move(messages)},
                        {"info", InfoOf(trajectory_, manifest_)},
                        {"trajectory_format", "mini-swe-agent-1"}};
    return WriteFileAtomically(output_ / absl::StrCat(id(), ".json"), Text(whole));
  }

  absl::Status WriteKernels(ExportCounts& counts) {
    Json record = Json::array();
    const fs::path folder = output_ / "success" / id();
    for (const Turn& turn : trajectory_.turns) {
      if (!IsCorrect(turn)) continue;
      RETURN_IF_ERROR(MakeFolder(folder));
      const std::string ending = fs::path(turn.extracted->path()).extension().string();
      const std::string name = absl::StrCat("kernel_v", turn.number + 1, ending);
      RETURN_IF_ERROR(WriteFileAtomically(folder / name, sources_[turn.number]));
      Json entry = TraceOf(turn.judged->verdict(), SpeedupOf(turn).value_or(0));
      entry["file"] = name;
      entry["turn"] = turn.number;
      record.push_back(std::move(entry));
      ++counts.kernels;
    }
    return record.empty() ? absl::OkStatus() : WriteFileAtomically(folder / "record.json", Text(record));
  }

  absl::Status WriteExcluded(ExportCounts& counts) {
    Json attempts = Json::array(), turns = Json::array();
    for (const Turn& turn : trajectory_.turns) AddAttempts(turn, attempts);
    for (const Turn& turn : trajectory_.taken_back) {
      AddAttempts(turn, attempts);
      if (!turn.answered.has_value()) continue;
      Json entry = AssistantMessage(turn, "");
      entry["feedback"] = FeedbackMessage(turn, 0);
      turns.push_back(std::move(entry));
    }
    counts.excluded += static_cast<uint32_t>(attempts.size() + turns.size());
    if (attempts.empty() && turns.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(MakeFolder(output_ / "excluded"));
    const Json whole = {{"attempts", std::move(attempts)}, {"turns_taken_back", std::move(turns)}};
    return WriteFileAtomically(output_ / "excluded" / absl::StrCat(id(), ".json"), Text(whole));
  }

  static void AddAttempts(const Turn& turn, Json& attempts) {
    for (const v1::AttemptExcluded& attempt : turn.excluded) {
      Json entry = {{"turn", turn.number},
                    {"incident_id", attempt.excluded().exclusion().incident_id()},
                    {"reason", attempt.excluded().exclusion().reason()}};
      if (attempt.has_verdict()) entry["verdict"] = TraceOf(attempt.verdict(), 0);
      attempts.push_back(std::move(entry));
    }
  }

  const fs::path& run_;
  const fs::path& output_;
  const v1::RunManifest& manifest_;
  const Trajectory& trajectory_;
  std::vector<std::string> sources_;
};

}  // namespace

absl::StatusOr<ExportCounts> ExportMiniSwe(const fs::path& run, const fs::path& output) {
  ExportCounts counts;
  ASSIGN_OR_RETURN(const Run whole, ReadRun(run));
  RETURN_IF_ERROR(MakeFolder(output));
  for (const Trajectory& trajectory : whole.trajectories) {
    RETURN_IF_ERROR(Exporter(run, output, whole.manifest, trajectory).Write(counts));
  }
  return counts;
}

}  // namespace sassay::agent
