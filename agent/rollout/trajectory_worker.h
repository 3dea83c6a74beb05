// One trajectory, turn after turn: ask, extract, judge, tell.
#ifndef SASSAY_AGENT_ROLLOUT_TRAJECTORY_WORKER_H_
#define SASSAY_AGENT_ROLLOUT_TRAJECTORY_WORKER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/models/answer.h"
#include "agent/models/model.h"
#include "agent/rollout/conversation.h"
#include "agent/rollout/exclusions.h"
#include "agent/rollout/judge.h"
#include "agent/rollout/slots.h"
#include "agent/rollout/spending.h"
#include "agent/rollout/trajectory_stops.h"
#include "agent/rollout/view/board.h"
#include "agent/submit/retry.h"
#include "agent/trajectory/run_folder.h"

namespace sassay::agent {

// What all trajectories of a run share. Everything in it is safe for many threads.
struct RolloutContext {
  RunFolder& folder;
  Model& model;
  Judge& judge;
  // Appended to the feedback about a verdict; see RepairNotes.
  std::function<std::string(const v1::Verdict&, const v1::Workload&)> notes;
  Slots& answers;
  // Logs that are read at once: what a whole log takes in memory is soon let go.
  Slots& readers;
  Spending& spending;
  Exclusions& exclusions;
  Board& board;
  // How long a turn waits for infrastructure before the run pauses, and how it waits.
  RetryPolicy infrastructure;
  Language language = Language::kCuda;
  // Set when the run is to end: no question is asked any more.
  std::atomic<bool>& closing;
  std::function<absl::Time()> now;
};

// One trajectory's part.
struct TrajectorySpec {
  size_t index = 0;
  const v1::Workload* workload = nullptr;
  // Shared by the trajectories that begin with the same words.
  std::shared_ptr<const std::string> system;
  std::shared_ptr<const std::string> user;
  v1::TrajectoryBegan began;
};

// Works on one trajectory until it has ended.
//
// Life cycle: made for one Run; a trajectory that was rewound after its end gets another worker. What it knows comes
// from the log, so going on after a SIGKILL and going on after the last turn are the same code. Threads: one.
// Memory: of turns that are over it keeps the answer, the feedback and the outcome, no more.
// Failure: CANCELLED where it was stopped; everything else ends or pauses the whole run: UNAVAILABLE when the patience
// with infrastructure or provider is used up, the provider's or service's refusals as they came.
class TrajectoryWorker {
 public:
  TrajectoryWorker(RolloutContext& context, const TrajectorySpec& spec, TrajectoryStops& stops)
      : context_(context), spec_(spec), stops_(stops) {}

  absl::Status Run();

 private:
  absl::Status Open();
  absl::Status Work();
  absl::Status Step();
  absl::Status Rewind(const ExcludedTurn& excluded);

  absl::Status Ask(uint32_t turn);
  v1::Asked Describe(const GenerationRequest& request, const std::vector<uint32_t>& shown) const;
  absl::Status NoteAsked(v1::Asked asked);
  GenerationListener AnswerListener();
  absl::Status TakeAnswer(v1::Answered answered);
  absl::Status Extract(const Turn& turn);

  absl::Status Judge(const Turn& turn);
  std::string RequestId(const Turn& turn) const;
  // Empty once the turn is decided; else what stands in the way.
  absl::StatusOr<std::string> JudgeOnce(const Turn& turn, const std::string& source, absl::Time begin,
                                        Stopper& stopper);
  JudgeListener JudgingListener(const Turn& turn, absl::Status& failure);
  absl::Status ExcludeAttempt(const Turn& turn, const v1::Verdict& verdict, absl::string_view reason);
  absl::Status Decide(const Turn& turn, Judgement judgement, absl::Duration wall);

  absl::Status GiveFeedback(Turn& turn);
  absl::Status End(v1::TrajectoryEnd end, absl::string_view detail = "");
  v1::TrajectoryEnd EndAfter(const Turn& turn) const;

  // The turn is over: keeps its texts for the conversation and its outcome, and drops the rest.
  void Remember(Turn& turn);

  // Writes the record and folds it.
  absl::Status Append(v1::TrajectoryRecord record);
  GenerationRequest Request(uint32_t turn, const std::vector<uint32_t>& shown) const;
  // "RUN_ID/exp_000/3"; "RUN_ID.1/exp_000/3" for the turn that takes the place of one that was taken back.
  std::string TurnKey(uint32_t turn) const;
  const std::string& id() const { return spec_.began.trajectory_id(); }
  const v1::RunManifest& manifest() const { return context_.folder.manifest(); }

  RolloutContext& context_;
  const TrajectorySpec& spec_;
  TrajectoryStops& stops_;
  std::unique_ptr<TrajectoryLog> log_;
  Trajectory trajectory_;
  std::vector<ToldTurn> told_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_TRAJECTORY_WORKER_H_
