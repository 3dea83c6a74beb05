#include "agent/models/local/replay_model.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "agent/models/estimate.h"
#include "agent/trajectory/layout.h"
#include "agent/trajectory/trajectory.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxAnswerBytes = 16 << 20;

absl::Status NoAnswer(const GenerationRequest& request, const std::string& where) {
  return absl::InvalidArgumentError(
      absl::StrCat("no answer of ", request.trajectory_id, " at turn ", request.turn, " is recorded in ", where));
}

void Report(const v1::Answered& answer, const GenerationListener& listener) {
  listener.on_progress(answer.text().size(), answer.reasoning().size());
}

// The answers of a run.
class RunReplay : public Model {
 public:
  explicit RunReplay(Run run) : where_(run.folder.string()) {
    for (Trajectory& trajectory : run.trajectories) {
      for (Turn& turn : trajectory.turns) {
        if (turn.answered) answers_[{trajectory.began.trajectory_id(), turn.number}] = *std::move(turn.answered);
      }
    }
  }

  absl::StatusOr<v1::Answered> Generate(const GenerationRequest& request, const GenerationListener& listener,
                                        Stopper& stopper) override {
    if (stopper.stopped()) return absl::CancelledError("stopped");
    const auto found = answers_.find({request.trajectory_id, request.turn});
    if (found == answers_.end()) return NoAnswer(request, where_);
    Report(found->second, listener);
    return found->second;
  }

 private:
  const std::string where_;
  std::map<std::pair<std::string, uint32_t>, v1::Answered> answers_;
};

// Nothing if the folder has no answer to this turn.
absl::StatusOr<absl::optional<v1::Answered>> ReadAnswer(const fs::path& folder, const GenerationRequest& request) {
  const std::string name = TurnName(request.turn);
  const absl::StatusOr<std::string> text = ReadFile(folder / (name + ".md"), kMaxAnswerBytes);
  if (absl::IsNotFound(text.status())) return absl::optional<v1::Answered>();
  RETURN_IF_ERROR(text.status());
  const absl::StatusOr<std::string> reasoning = ReadFile(folder / (name + ".reasoning.md"), kMaxAnswerBytes);
  if (!reasoning.ok() && !absl::IsNotFound(reasoning.status())) return reasoning.status();
  v1::Answered answer;
  answer.set_turn(request.turn);
  answer.set_text(ToUtf8(*text));
  if (reasoning.ok()) answer.set_reasoning(ToUtf8(*reasoning));
  answer.set_finish_reason("stop");
  answer.set_model("replay");
  EstimateUsage(request, answer);
  return absl::optional<v1::Answered>(std::move(answer));
}

// The answers in text files.
class FolderReplay : public Model {
 public:
  explicit FolderReplay(fs::path folder) : folder_(std::move(folder)) {}

  absl::StatusOr<v1::Answered> Generate(const GenerationRequest& request, const GenerationListener& listener,
                                        Stopper& stopper) override {
    if (stopper.stopped()) return absl::CancelledError("stopped");
    absl::optional<v1::Answered> answer;
    if (IsTrajectoryId(request.trajectory_id)) {
      ASSIGN_OR_RETURN(answer, ReadAnswer(folder_ / request.trajectory_id, request));
    }
    if (!answer) {
      ASSIGN_OR_RETURN(answer, ReadAnswer(folder_, request));
    }
    if (!answer) return NoAnswer(request, folder_.string());
    Report(*answer, listener);
    return *std::move(answer);
  }

 private:
  const fs::path folder_;
};

bool IsTurnFile(const fs::path& path) {
  return absl::StartsWith(path.filename().string(), "turn_") && path.extension() == ".md";
}

// Whether the folder, or one below it, holds an answer.
bool HasAnswers(const fs::path& folder) {
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error); !error && entry != end(entry);
       entry.increment(error)) {
    if (entry.depth() <= 1 && IsTurnFile(entry->path())) return true;
    if (entry.depth() >= 1) entry.disable_recursion_pending();
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> OpenReplay(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / "run.json", ignored)) {
    ASSIGN_OR_RETURN(Run run, ReadRun(folder));
    return std::make_unique<RunReplay>(std::move(run));
  }
  if (HasAnswers(folder)) return std::make_unique<FolderReplay>(folder);
  return absl::NotFoundError(absl::StrCat("--model replay:", folder.string(),
                                          " holds no answers; expected a run's folder (run.json), exp_000/turn_00.md, "
                                          "or turn_00.md for all trajectories."));
}

}  // namespace sassay::agent
