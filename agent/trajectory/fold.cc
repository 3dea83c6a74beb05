#include "agent/trajectory/fold.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

using Record = v1::TrajectoryRecord;

// Dollars for one answer; more than any tokens and prices can give. With what is more, or no number, no sum over a run
// would be one.
constexpr double kMostCost = 1e24;

absl::Status Misplaced(absl::string_view what, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(what, " cannot stand here: ", why));
}

absl::Status Begin(const v1::TrajectoryBegan& began, Trajectory& trajectory) {
  if (trajectory.last_sequence != 0) return Misplaced("began", "the trajectory has begun already");
  trajectory.began = began;
  return absl::OkStatus();
}

absl::Status Ask(const v1::Asked& asked, Trajectory& trajectory) {
  std::vector<Turn>& turns = trajectory.turns;
  const bool again = !turns.empty() && turns.back().number == asked.turn();
  if (again && turns.back().answered.has_value()) return Misplaced("asked", "the turn has its answer");
  if (!again && asked.turn() != turns.size())
    return Misplaced("asked", absl::StrCat("expected turn ", turns.size(), ", not ", asked.turn()));
  if (!again) turns.emplace_back().number = asked.turn();
  turns.back().asked = asked;
  return absl::OkStatus();
}

// The turn that is being worked on, if it is that one and has come so far.
absl::StatusOr<Turn*> Current(absl::string_view what, uint32_t number, Trajectory& trajectory) {
  if (trajectory.turns.empty() || trajectory.turns.back().number != number)
    return Misplaced(what, absl::StrCat("turn ", number, " is not the last one"));
  return &trajectory.turns.back();
}

template <typename Part>
absl::StatusOr<Turn*> CurrentWith(absl::string_view what, uint32_t number, std::optional<Part> Turn::*part,
                                  Trajectory& trajectory) {
  ASSIGN_OR_RETURN(Turn* const turn, Current(what, number, trajectory));
  if (!(turn->*part).has_value()) return Misplaced(what, "what it follows from has not happened");
  if (turn->judged.has_value()) return Misplaced(what, "the turn has its verdict");
  return turn;
}

absl::Status Answer(const v1::Answered& answered, Trajectory& trajectory) {
  ASSIGN_OR_RETURN(Turn* const turn, CurrentWith("answered", answered.turn(), &Turn::asked, trajectory));
  if (turn->answered.has_value()) return Misplaced("answered", "the turn has its answer");
  const double cost = answered.usage().cost_usd();
  if (!(cost >= 0) || cost > kMostCost)
    return absl::InvalidArgumentError(absl::StrCat("an answer cannot have cost ", cost, " dollars"));
  turn->answered = answered;
  return absl::OkStatus();
}

absl::Status Extract(const v1::Extracted& extracted, Trajectory& trajectory) {
  ASSIGN_OR_RETURN(Turn* const turn, CurrentWith("extracted", extracted.turn(), &Turn::answered, trajectory));
  turn->extracted = extracted;
  return absl::OkStatus();
}

absl::Status Submit(const v1::Submitted& submitted, Trajectory& trajectory) {
  ASSIGN_OR_RETURN(Turn* const turn, CurrentWith("submitted", submitted.turn(), &Turn::extracted, trajectory));
  turn->submitted = submitted;
  return absl::OkStatus();
}

absl::Status Exclude(const v1::AttemptExcluded& excluded, Trajectory& trajectory) {
  ASSIGN_OR_RETURN(Turn* const turn, CurrentWith("excluded", excluded.turn(), &Turn::extracted, trajectory));
  turn->excluded.push_back(excluded);
  return absl::OkStatus();
}

absl::Status Judge(const v1::Judged& judged, Trajectory& trajectory) {
  ASSIGN_OR_RETURN(Turn* const turn, CurrentWith("judged", judged.turn(), &Turn::extracted, trajectory));
  turn->judged = judged;
  return absl::OkStatus();
}

absl::Status GiveFeedback(const v1::FeedbackGiven& feedback, Trajectory& trajectory) {
  ASSIGN_OR_RETURN(Turn* const turn, Current("feedback", feedback.turn(), trajectory));
  const bool decided =
      turn->judged.has_value() || (turn->extracted.has_value() && turn->extracted->extraction() != v1::EXTRACTION_CODE);
  if (!decided) return Misplaced("feedback", "the turn is not decided");
  turn->feedback = feedback;
  return absl::OkStatus();
}

absl::Status Rewind(const v1::Rewound& rewound, Trajectory& trajectory) {
  std::vector<Turn>& turns = trajectory.turns;
  if (rewound.turn() >= turns.size() || !turns[rewound.turn()].judged.has_value())
    return Misplaced("rewound", absl::StrCat("turn ", rewound.turn(), " has no verdict that could be excluded"));
  for (size_t i = rewound.turn() + 1; i < turns.size(); ++i) trajectory.taken_back.push_back(std::move(turns[i]));
  turns.resize(rewound.turn() + 1);
  Turn& turn = turns.back();
  v1::AttemptExcluded attempt;
  attempt.set_turn(rewound.turn());
  attempt.mutable_excluded()->set_attempt(turn.judged->verdict().attempt());
  *attempt.mutable_excluded()->mutable_exclusion() = rewound.exclusion();
  attempt.mutable_excluded()->set_rerun(true);
  *attempt.mutable_verdict() = std::move(*turn.judged->mutable_verdict());
  turn.excluded.push_back(std::move(attempt));
  turn.judged.reset();
  turn.feedback.reset();
  trajectory.ended.reset();
  return absl::OkStatus();
}

absl::Status End(const v1::TrajectoryEnded& ended, Trajectory& trajectory) {
  trajectory.ended = ended;
  return absl::OkStatus();
}

absl::Status Dispatch(const Record& record, Trajectory& trajectory) {
  switch (record.what_case()) {
    case Record::kBegan:
      return Begin(record.began(), trajectory);
    case Record::kAsked:
      return Ask(record.asked(), trajectory);
    case Record::kAnswered:
      return Answer(record.answered(), trajectory);
    case Record::kExtracted:
      return Extract(record.extracted(), trajectory);
    case Record::kSubmitted:
      return Submit(record.submitted(), trajectory);
    case Record::kExcluded:
      return Exclude(record.excluded(), trajectory);
    case Record::kJudged:
      return Judge(record.judged(), trajectory);
    case Record::kFeedback:
      return GiveFeedback(record.feedback(), trajectory);
    case Record::kRewound:
      return Rewind(record.rewound(), trajectory);
    case Record::kEnded:
      return End(record.ended(), trajectory);
    case Record::WHAT_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("the record says nothing");
}

}  // namespace

absl::Status Fold(const v1::TrajectoryRecord& record, Trajectory& trajectory) {
  if (record.sequence() != trajectory.last_sequence + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected record ", trajectory.last_sequence + 1, ", not ", record.sequence()));
  }
  if (trajectory.last_sequence == 0 && !record.has_began()) return Misplaced("the record", "nothing has begun");
  if (trajectory.ended.has_value() && !record.has_rewound()) return Misplaced("the record", "the trajectory has ended");
  RETURN_IF_ERROR(Dispatch(record, trajectory));
  trajectory.last_sequence = record.sequence();
  return absl::OkStatus();
}

}  // namespace sassay::agent
