#include "agent/rollout/trajectory_worker.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/feedback/feedback.h"
#include "agent/rollout/conversation.h"
#include "agent/rollout/policy.h"
#include "agent/trajectory/fold.h"
#include "common/base/proto_time.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/base/utf8.h"

namespace sassay::agent {
namespace {

using Record = v1::TrajectoryRecord;

const char* SourceName(Language language) { return language == Language::kTriton ? "kernel.py" : "kernel.cu"; }

absl::Status Stopped() { return absl::CancelledError("the run was stopped."); }

std::optional<double> BestBefore(const std::vector<Turn>& turns, uint32_t turn) {
  std::optional<double> best;
  for (uint32_t i = 0; i < turn; ++i) {
    const std::optional<double> speedup = SpeedupOf(turns[i]);
    if (speedup.has_value() && *speedup > best.value_or(0)) best = speedup;
  }
  return best;
}

// Attempts that the service made within the submission that is followed, and told of already.
bool IsKnown(const Turn& turn, uint32_t attempt) {
  for (auto known = turn.excluded.rbegin(); known != turn.excluded.rend() && known->excluded().rerun(); ++known) {
    if (known->excluded().attempt() == attempt) return true;
  }
  return false;
}

// Submissions of the turn that ended without a verdict that counts; each later one has an id of its own.
size_t SpentSubmissions(const Turn& turn) {
  return std::count_if(turn.excluded.begin(), turn.excluded.end(),
                       [](const v1::AttemptExcluded& attempt) { return !attempt.excluded().rerun(); });
}

// Of a turn that was taken back only that it was there.
Turn TakenBack(const Turn& turn) {
  Turn kept;
  kept.number = turn.number;
  return kept;
}

// Reasoning, samples, evidence: nobody needs them of a turn that is over.
void Slim(Turn& turn) {
  if (turn.answered.has_value()) turn.answered->clear_reasoning();
  for (v1::AttemptExcluded& attempt : turn.excluded) attempt.clear_verdict();
  if (turn.submitted.has_value()) {
    turn.submitted->clear_kernels();
    turn.submitted->clear_launches();
  }
  if (!turn.judged.has_value()) return;
  const v1::Verdict& whole = turn.judged->verdict();
  v1::Verdict kept;
  kept.set_submission_id(whole.submission_id());
  kept.set_status(whole.status());
  kept.set_code(whole.code());
  kept.set_attempt(whole.attempt());
  kept.set_scorable(whole.scorable());
  kept.mutable_timing()->set_status(whole.timing().status());
  kept.mutable_timing()->set_speedup(whole.timing().speedup());
  if (whole.has_excluded()) *kept.mutable_excluded() = whole.excluded();
  *turn.judged->mutable_verdict() = std::move(kept);
}

}  // namespace

void TrajectoryWorker::Remember(Turn& turn) {
  if (told_.size() <= turn.number) told_.resize(turn.number + 1);
  ToldTurn& told = told_[turn.number];
  // A turn that is judged again keeps the answer that was taken out of it then.
  if (told.answer == nullptr)
    told.answer = std::make_shared<const std::string>(std::move(*turn.answered->mutable_text()));
  told.feedback = std::make_shared<const std::string>(std::move(*turn.feedback->mutable_text()));
  turn.answered->clear_text();
  turn.feedback->clear_text();
  Slim(turn);
}

absl::Status TrajectoryWorker::Run() {
  RETURN_IF_ERROR(Open());
  for (;;) {
    const absl::Status status = Work();
    // Who is stopped while the run goes on was stopped by an exclusion, seen to by now or not.
    if (!absl::IsCancelled(status) || context_.closing) return status;
    stops_.Renew();
  }
}

absl::Status TrajectoryWorker::Open() {
  const Slots::Place place = context_.readers.Take();
  if (!place) return Stopped();
  ASSIGN_OR_RETURN(log_, context_.folder.OpenLog(id(), context_.now));
  trajectory_ = std::move(log_->found());
  if (trajectory_.last_sequence == 0) {
    Record record;
    *record.mutable_began() = spec_.began;
    RETURN_IF_ERROR(Append(std::move(record)));
  }
  for (Turn& turn : trajectory_.turns) {
    // What a later turn shows of it must be there; a log of somebody else's may lack it.
    if (turn.number + 1 < trajectory_.turns.size() && !turn.feedback.has_value())
      return absl::DataLossError(absl::StrCat("the log of ", id(), " has a turn after turn ", turn.number,
                                              ", which was never answered by feedback; it cannot go on."));
    if (turn.judged.has_value()) context_.exclusions.Counts(spec_.index, turn.number, turn.judged->verdict());
    if (turn.feedback.has_value()) Remember(turn);
  }
  for (Turn& turn : trajectory_.taken_back) turn = TakenBack(turn);
  context_.board.Show(spec_.index, trajectory_.turns);
  return absl::OkStatus();
}

absl::Status TrajectoryWorker::Work() {
  for (;;) {
    if (const auto excluded = context_.exclusions.Earliest(spec_.index); excluded.has_value()) {
      RETURN_IF_ERROR(Rewind(*excluded));
    }
    if (trajectory_.ended.has_value()) return absl::OkStatus();
    if (context_.closing) return Stopped();
    RETURN_IF_ERROR(Step());
  }
}

absl::Status TrajectoryWorker::Rewind(const ExcludedTurn& excluded) {
  context_.exclusions.Rewound(spec_.index, excluded.turn);
  const bool counts = excluded.turn < trajectory_.turns.size() && trajectory_.turns[excluded.turn].judged.has_value();
  if (!counts) return absl::OkStatus();
  Record record;
  record.mutable_rewound()->set_turn(excluded.turn);
  *record.mutable_rewound()->mutable_exclusion() = excluded.exclusion;
  RETURN_IF_ERROR(Append(std::move(record)));
  context_.board.Show(spec_.index, trajectory_.turns);
  context_.board.Note(
      spec_.index, absl::StrCat("turn ", excluded.turn, " was excluded (", excluded.exclusion.incident_id(), ": ",
                                excluded.exclusion.reason(), "); it is judged again, and later turns count no longer"));
  return absl::OkStatus();
}

absl::Status TrajectoryWorker::Step() {
  if (trajectory_.turns.empty()) return Ask(0);
  Turn& turn = trajectory_.turns.back();
  if (!turn.answered.has_value()) return Ask(turn.number);
  if (!turn.extracted.has_value()) return Extract(turn);
  if (turn.extracted->extraction() == v1::EXTRACTION_CODE && !turn.judged.has_value()) return Judge(turn);
  if (!turn.feedback.has_value()) return GiveFeedback(turn);
  const v1::TrajectoryEnd end = EndAfter(turn);
  return end == v1::TRAJECTORY_END_UNSPECIFIED ? Ask(turn.number + 1) : End(end);
}

v1::TrajectoryEnd TrajectoryWorker::EndAfter(const Turn& turn) const {
  const double target = manifest().target_speedup();
  if (target > 0 && IsScorable(turn) && SpeedupOf(turn).value_or(0) >= target) return v1::TRAJECTORY_END_TARGET_REACHED;
  return turn.number + 1 >= manifest().turn_limit() ? v1::TRAJECTORY_END_TURN_LIMIT : v1::TRAJECTORY_END_UNSPECIFIED;
}

absl::Status TrajectoryWorker::End(v1::TrajectoryEnd end, absl::string_view detail) {
  Record record;
  record.mutable_ended()->set_end(end);
  record.mutable_ended()->set_detail(std::string(detail));
  RETURN_IF_ERROR(Append(std::move(record)));
  context_.board.Ended(spec_.index, *trajectory_.ended);
  return absl::OkStatus();
}

std::string TrajectoryWorker::TurnKey(uint32_t turn) const {
  const auto& gone = trajectory_.taken_back;
  const auto lives = std::count_if(gone.begin(), gone.end(), [&](const Turn& old) { return old.number == turn; });
  return absl::StrCat(manifest().run_id(), lives > 0 ? absl::StrCat(".", lives) : "", "/", id(), "/", turn);
}

GenerationRequest TrajectoryWorker::Request(uint32_t turn, const std::vector<uint32_t>& shown) const {
  GenerationRequest request;
  request.messages = MessagesOf(spec_.system, spec_.user, told_, shown);
  request.sampling = manifest().sampling();
  request.idempotency_key = TurnKey(turn);
  request.trajectory_id = id();
  request.turn = turn;
  return request;
}

v1::Asked TrajectoryWorker::Describe(const GenerationRequest& request, const std::vector<uint32_t>& shown) const {
  v1::Asked asked;
  asked.set_turn(request.turn);
  asked.set_idempotency_key(request.idempotency_key);
  asked.mutable_shows_turns()->Add(shown.begin(), shown.end());
  asked.set_messages_sha256(MessagesDigest(request.messages));
  return asked;
}

// What a process that was killed wrote down already is not written again.
absl::Status TrajectoryWorker::NoteAsked(v1::Asked asked) {
  const bool known = asked.turn() < trajectory_.turns.size();
  if (known && trajectory_.turns[asked.turn()].asked->messages_sha256() == asked.messages_sha256())
    return absl::OkStatus();
  Record record;
  *record.mutable_asked() = std::move(asked);
  return Append(std::move(record));
}

absl::Status TrajectoryWorker::Ask(uint32_t turn) {
  context_.board.Doing(spec_.index, "waiting to ask");
  // Held until the answer is durable: a process that dies loses so many answers at most.
  const Slots::Place place = context_.answers.Take();
  const std::shared_ptr<Stopper> stopper = stops_.asking();
  const std::shared_ptr<Stopper> tries = stops_.judging();
  if (!place || context_.closing || tries->stopped()) return Stopped();
  const v1::TrajectoryEnd end = context_.spending.Exhausted();
  if (end != v1::TRAJECTORY_END_UNSPECIFIED) return End(end);
  const absl::Span<const Turn> earlier = absl::MakeConstSpan(trajectory_.turns).first(turn);
  const std::vector<uint32_t> shown = TurnsToShow(manifest().context(), earlier);
  GenerationRequest request = Request(turn, shown);
  request.tries = tries.get();
  RETURN_IF_ERROR(NoteAsked(Describe(request, shown)));
  context_.board.Arriving(spec_.index, 0, 0);
  absl::StatusOr<v1::Answered> answered = context_.model.Generate(request, AnswerListener(), *stopper);
  // Before the next one may ask, so that a budget is overdrawn by answers under way alone.
  if (answered.ok()) {
    Price(manifest().prices(), *answered->mutable_usage());
    context_.spending.Add(answered->usage());
  }
  context_.board.Doing(spec_.index, "answered");
  if (EndsConversation(answered.status())) {
    return End(v1::TRAJECTORY_END_MODEL_REFUSED, answered.status().message());
  }
  // Nobody stopped it: else it would be asked again and again.
  if (absl::IsCancelled(answered.status()) && !tries->stopped())
    return absl::UnavailableError(absl::StrCat("the model gave up: ", answered.status().message()));
  RETURN_IF_ERROR(answered.status());
  answered->set_turn(turn);
  return TakeAnswer(*std::move(answered));
}

GenerationListener TrajectoryWorker::AnswerListener() {
  GenerationListener listener;
  listener.on_progress = [this](uint64_t text_bytes, uint64_t reasoning_bytes) {
    context_.board.Arriving(spec_.index, text_bytes, reasoning_bytes);
  };
  listener.on_note = [this](absl::string_view note) { context_.board.Note(spec_.index, note); };
  return listener;
}

absl::Status TrajectoryWorker::TakeAnswer(v1::Answered answered) {
  Record record;
  *record.mutable_answered() = std::move(answered);
  RETURN_IF_ERROR(Append(std::move(record)));
  context_.board.Spent(context_.spending.total());
  return absl::OkStatus();
}

absl::Status TrajectoryWorker::Extract(const Turn& turn) {
  const bool cut = turn.answered->finish_reason() == "length";
  ExtractedCode found = ExtractCode(turn.answered->text(), context_.language, cut);
  Record record;
  v1::Extracted& extracted = *record.mutable_extracted();
  extracted.set_turn(turn.number);
  extracted.set_extraction(found.extraction);
  extracted.set_reason(std::move(found.reason));
  if (found.extraction == v1::EXTRACTION_CODE) {
    extracted.set_path(SourceName(context_.language));
    extracted.set_source_sha256(Sha256Hex(found.code));
    RETURN_IF_ERROR(context_.folder.WriteSource(id(), turn.number, extracted.path(), found.code));
  }
  return Append(std::move(record));
}

absl::Status TrajectoryWorker::Judge(const Turn& turn) {
  const absl::Time begin = SteadyNow();
  ASSIGN_OR_RETURN(const std::string source, ReadSource(context_.folder.path(), trajectory_, turn));
  const std::shared_ptr<Stopper> stopper = stops_.judging();
  Backoff backoff(context_.infrastructure, *stopper);
  while (!stopper->stopped()) {
    ASSIGN_OR_RETURN(const std::string trouble, JudgeOnce(turn, source, begin, *stopper));
    if (trouble.empty() || trajectory_.ended.has_value()) return absl::OkStatus();
    if (stopper->stopped()) break;
    context_.board.Note(spec_.index, absl::StrCat("turn ", turn.number, " waits to be judged again: ", trouble));
    context_.board.Doing(spec_.index, "waiting for infrastructure");
    if (!backoff.Wait() && !stopper->stopped())
      return absl::UnavailableError(absl::StrCat(id(), ", turn ", turn.number, ": ", trouble));
  }
  return Stopped();
}

// A submission that was begun keeps its name, whatever happened since; one that came to nothing is followed by another.
std::string TrajectoryWorker::RequestId(const Turn& turn) const {
  const std::string suffix = absl::StrCat("/", SpentSubmissions(turn));
  const bool begun = turn.submitted.has_value() && absl::EndsWith(turn.submitted->request_id(), suffix);
  return begun ? turn.submitted->request_id() : absl::StrCat(TurnKey(turn.number), suffix);
}

absl::StatusOr<std::string> TrajectoryWorker::JudgeOnce(const Turn& turn, const std::string& source, absl::Time begin,
                                                        Stopper& stopper) {
  const JudgeJob job = {spec_.workload, source, turn.extracted->path(), RequestId(turn)};
  absl::Status failure;
  absl::StatusOr<Judgement> judgement = context_.judge.Run(job, JudgingListener(turn, failure), stopper);
  RETURN_IF_ERROR(failure);
  if (judgement.ok() && IsAboutCandidate(judgement->verdict)) {
    RETURN_IF_ERROR(Decide(turn, *std::move(judgement), SteadyNow() - begin));
    return std::string();
  }
  if (stopper.stopped()) return Stopped();
  if (judgement.ok()) {
    const std::string trouble = TroubleOf(judgement->verdict);
    RETURN_IF_ERROR(ExcludeAttempt(turn, judgement->verdict, trouble));
    if (IsHopeless(judgement->verdict)) RETURN_IF_ERROR(End(v1::TRAJECTORY_END_NOT_JUDGEABLE, trouble));
    return trouble;
  }
  const std::string trouble(judgement.status().message());
  if (absl::IsAlreadyExists(judgement.status())) {
    RETURN_IF_ERROR(ExcludeAttempt(turn, v1::Verdict(), trouble));
  } else if (!IsWorthWaiting(judgement.status())) {
    return judgement.status();
  }
  return trouble;
}

JudgeListener TrajectoryWorker::JudgingListener(const Turn& turn, absl::Status& failure) {
  JudgeListener listener;
  listener.on_step = [this](absl::string_view step) { context_.board.Doing(spec_.index, step); };
  listener.on_note = [this](absl::string_view note) { context_.board.Note(spec_.index, note); };
  listener.on_built = [this, &turn](v1::Submitted submitted) {
    const bool known = turn.submitted.has_value() && turn.submitted->request_id() == submitted.request_id() &&
                       turn.submitted->bundle_sha256() == submitted.bundle_sha256();
    if (known) return absl::OkStatus();
    Record record;
    *record.mutable_submitted() = std::move(submitted);
    record.mutable_submitted()->set_turn(turn.number);
    return Append(std::move(record));
  };
  listener.on_excluded = [this, &turn, &failure](const v1::AttemptExcluded& attempt) {
    if (IsKnown(turn, attempt.excluded().attempt())) return;
    Record record;
    *record.mutable_excluded() = attempt;
    record.mutable_excluded()->set_turn(turn.number);
    failure.Update(Append(std::move(record)));
  };
  return listener;
}

absl::Status TrajectoryWorker::ExcludeAttempt(const Turn& turn, const v1::Verdict& verdict, absl::string_view reason) {
  Record record;
  v1::AttemptExcluded& attempt = *record.mutable_excluded();
  attempt.set_turn(turn.number);
  attempt.mutable_excluded()->set_attempt(verdict.attempt());
  *attempt.mutable_excluded()->mutable_exclusion() = verdict.excluded();
  if (!verdict.has_excluded()) attempt.mutable_excluded()->mutable_exclusion()->set_reason(std::string(reason));
  if (verdict.status() != v1::VERDICT_STATUS_UNSPECIFIED) *attempt.mutable_verdict() = verdict;
  return Append(std::move(record));
}

absl::Status TrajectoryWorker::Decide(const Turn& turn, Judgement judgement, absl::Duration wall) {
  context_.exclusions.Counts(spec_.index, turn.number, judgement.verdict);
  Record record;
  v1::Judged& judged = *record.mutable_judged();
  judged.set_turn(turn.number);
  *judged.mutable_verdict() = std::move(judgement.verdict);
  SetDuration(wall, *judged.mutable_wall());
  SetDuration(judgement.queued, *judged.mutable_queued());
  return Append(std::move(record));
}

absl::Status TrajectoryWorker::GiveFeedback(Turn& turn) {
  FeedbackInput input;
  input.workload = spec_.workload;
  input.extracted = &*turn.extracted;
  input.verdict = turn.judged.has_value() ? &turn.judged->verdict() : nullptr;
  input.submitted = turn.submitted.has_value() ? &*turn.submitted : nullptr;
  if (turn.extracted->extraction() == v1::EXTRACTION_CODE) {
    ASSIGN_OR_RETURN(input.source, ReadSource(context_.folder.path(), trajectory_, turn));
  }
  input.turn = turn.number;
  input.turn_limit = manifest().turn_limit();
  input.target_speedup = manifest().target_speedup();
  input.best_speedup = BestBefore(trajectory_.turns, turn.number);
  std::string text = FeedbackText(input);
  if (input.verdict != nullptr && context_.notes) {
    const std::string notes = context_.notes(*input.verdict, *spec_.workload);
    if (!notes.empty()) absl::StrAppend(&text, "\n\n", notes);
  }
  Record record;
  record.mutable_feedback()->set_turn(turn.number);
  record.mutable_feedback()->set_text(std::move(text));
  RETURN_IF_ERROR(Append(std::move(record)));
  context_.board.Decided(spec_.index, turn);
  Remember(turn);
  return absl::OkStatus();
}

absl::Status TrajectoryWorker::Append(Record record) {
  // The same text in memory and on disk, so that a resumed run asks with the same words.
  MakeTextValid(record);
  record.set_sequence(trajectory_.last_sequence + 1);
  RETURN_IF_ERROR(log_->Append(record));
  return Fold(record, trajectory_);
}

}  // namespace sassay::agent
