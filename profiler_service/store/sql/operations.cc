#include "profiler_service/store/sql/operations.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sql/attempts.h"
#include "profiler_service/store/sql/dispatch.h"
#include "profiler_service/store/sql/rows.h"

namespace sassay::store::sql {
namespace {

using sassay::v1::Event;
using scheduling::Outcome;

constexpr char kSelectHeld[] =
    SASSAY_SELECT_SUBMISSION "WHERE id = ? AND " SASSAY_IN_STATE "1 AND epoch = ? AND owner = ?";

absl::StatusOr<Submission> ReadHeld(Query& query, const Lease& lease) {
  ASSIGN_OR_RETURN(const bool held, query.Step());
  if (held) return ReadSubmission(query);
  return absl::AbortedError(
      absl::StrCat("submission ", lease.submission.id, ": the lease with epoch ", lease.epoch, " is lost"));
}

void BindHeld(const Lease& lease, Query& query) {
  query.Bind(lease.submission.id).Bind(static_cast<int64_t>(lease.epoch)).Bind(lease.owner);
}

// The submission if `lease` still holds it.
absl::StatusOr<Submission> Held(Db& db, const Lease& lease) {
  Query query = db.Prepare(kSelectHeld);
  BindHeld(lease, query);
  return ReadHeld(query, lease);
}

// The same for many; only failures of the database are errors.
absl::StatusOr<std::vector<absl::StatusOr<Submission>>> AllHeld(Db& db, const std::vector<const Lease*>& leases) {
  std::vector<absl::StatusOr<Submission>> held;
  RETURN_IF_ERROR(ForEach(
      db, kSelectHeld, leases.size(), [&](size_t i, Query& query) { BindHeld(*leases[i], query); },
      [&](size_t i, Query& query) {
        held.push_back(ReadHeld(query, *leases[i]));
        const absl::Status& status = held.back().status();
        return IsDatabaseFailure(status) ? status : absl::OkStatus();
      }));
  return held;
}

// The answer to an event that asked for a place which is taken, or lies ahead.
absl::StatusOr<Event> AppendedBefore(Db& db, const Submission& submission, Event event) {
  const uint64_t place = event.sequence();
  if (place <= submission.last_sequence) {
    ASSIGN_OR_RETURN(const std::vector<Event> found, Events(db, submission.id, place - 1, 1));
    event.set_submission_id(submission.id);
    event.set_last(!found.empty() && found.front().last());
    if (!found.empty() && CanonicalBytes(found.front()) == CanonicalBytes(event)) return event;
  }
  return absl::OutOfRangeError(absl::StrCat("submission ", submission.id, ": expected an event with sequence ",
                                            submission.last_sequence + 1, ", got ", place));
}

absl::StatusOr<Event> AppendTo(Db& db, absl::StatusOr<Submission>& held, const Event& event) {
  RETURN_IF_ERROR(held.status());
  if (event.sequence() == 0 || event.sequence() == held->last_sequence + 1) return PutNext(db, *held, event);
  return AppendedBefore(db, *held, event);
}

absl::Status PromisedToCancel(const Submission& submission) {
  return absl::FailedPreconditionError(absl::StrCat("submission ", submission.id, " was promised to be cancelled"));
}

Outcome OutcomeOf(Ended ended) {
  if (ended == Ended::kCrashed) return Outcome::kCrashed;
  return ended == Ended::kFailed ? Outcome::kRan : Outcome::kWasted;
}

int64_t LossesAfter(const Submission& submission, Ended ended) {
  if (ended == Ended::kKilled) return submission.losses;
  return ended == Ended::kCrashed ? submission.losses + 1 : 0;
}

absl::StatusOr<std::vector<std::string>> DecidedBefore(Db& db, absl::Time before, int limit) {
  Query query = db.Prepare("SELECT id FROM verdicts WHERE decided_at < ? ORDER BY decided_at, id LIMIT ?");
  query.Bind(before).Bind(limit);
  std::vector<std::string> ids;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return ids;
    ids.push_back(query.Text(0));
  }
}

std::vector<std::string> InBoth(std::vector<std::string> left, std::vector<std::string> right) {
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  std::vector<std::string> both;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both));
  return both;
}

}  // namespace

absl::Status InsertEvent(Db& db, const Event& event) {
  return db.Prepare("INSERT INTO events (id, sequence, event) VALUES (?, ?, ?)")
      .Bind(event.submission_id())
      .Bind(static_cast<int64_t>(event.sequence()))
      .BindBlob(event.SerializeAsString())
      .Run();
}

absl::Status Append(Db& db, const std::vector<const Appending*>& events, std::vector<absl::StatusOr<Event>>& answers) {
  using Holder = std::tuple<std::string, uint64_t, std::string>;
  std::map<Holder, size_t> places;  // in `leases`, each once
  std::vector<const Lease*> leases;
  std::vector<size_t> of_event;
  for (const Appending* appending : events) {
    const Lease& lease = appending->lease;
    const auto [place, fresh] = places.emplace(Holder(lease.submission.id, lease.epoch, lease.owner), leases.size());
    if (fresh) leases.push_back(&lease);
    of_event.push_back(place->second);
  }
  ASSIGN_OR_RETURN(std::vector<absl::StatusOr<Submission>> held, AllHeld(db, leases));
  const std::vector<absl::StatusOr<Submission>> before = held;
  for (size_t i = 0; i < events.size(); ++i) {
    answers.push_back(AppendTo(db, held[of_event[i]], events[i]->event));
    if (IsDatabaseFailure(answers.back().status())) return answers.back().status();
  }
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i].ok() && held[i]->last_sequence != before[i]->last_sequence) RETURN_IF_ERROR(SaveLast(db, *held[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Event>> Finish(Db& db, const Lease& lease, const sassay::v1::Verdict& verdict,
                                          const Ending& ending) {
  ASSIGN_OR_RETURN(Submission submission, Held(db, lease));
  const bool cancelled = verdict.status() == sassay::v1::VERDICT_STATUS_CANCELLED;
  if (submission.cancelling && !cancelled) return PromisedToCancel(submission);
  const absl::Time ended_at = TimeOf(verdict.decided_at());
  absl::optional<sassay::v1::Exclusion> exclusion;
  if (!cancelled) {
    ASSIGN_OR_RETURN(exclusion, FindWindow(db, ending.gpu, ending.seated_at, ended_at));
  }
  std::vector<Event> events(1);
  ASSIGN_OR_RETURN(events[0], EndWith(db, submission, verdict));
  RETURN_IF_ERROR(RecordFinished(db, submission, verdict, ending));
  const bool wasted = exclusion.has_value();
  RETURN_IF_ERROR(PayFor(db, submission.id, GpuTimeOf(verdict), wasted ? Outcome::kWasted : Outcome::kRan, ended_at));
  events[0].set_last(!exclusion.has_value() && verdict.timing().status() != sassay::v1::Timing::PROVISIONAL);
  if (!exclusion.has_value()) return events;
  const bool rerun = submission.exclusions < ending.max_exclusions;
  ASSIGN_OR_RETURN(events.emplace_back(), ExcludeVerdict(db, submission, *exclusion, rerun, ended_at));
  return events;
}

absl::StatusOr<Event> Return(Db& db, const Lease& lease, const std::string& reason, Ended ended, const Ending& ending,
                             absl::Time now) {
  ASSIGN_OR_RETURN(Submission submission, Held(db, lease));
  if (submission.cancelling) return PromisedToCancel(submission);
  absl::optional<sassay::v1::Exclusion> exclusion;
  const bool may_be_excluded = ended == Ended::kExcluded || ended == Ended::kFailed;
  if (may_be_excluded && submission.exclusions < ending.max_exclusions) {
    ASSIGN_OR_RETURN(exclusion, FindWindow(db, ending.gpu, ending.seated_at, now));
  }
  ASSIGN_OR_RETURN(const uint64_t gpu_ns, RecordLost(db, submission, ending, now));
  RETURN_IF_ERROR(PayFor(db, submission.id, gpu_ns, exclusion.has_value() ? Outcome::kWasted : OutcomeOf(ended), now));
  RETURN_IF_ERROR(NoteLoss(db, submission.id, ended));
  const bool failed = ended == Ended::kFailed && !exclusion.has_value();
  RETURN_IF_ERROR(
      db.Prepare(
            "UPDATE submissions SET state = 0, owner = '', failures = ?, losses = ?, queue_deadline = ? WHERE id = ?")
          .Bind(submission.failures + (failed ? 1 : 0))
          .Bind(LossesAfter(submission, ended))
          .Bind(absl::InfiniteFuture())
          .Bind(submission.id)
          .Run());
  if (exclusion.has_value()) return MarkExcluded(db, submission, *exclusion, /*rerun=*/true, now);
  Event event;
  SetTimestamp(now, *event.mutable_at());
  event.mutable_retrying()->set_reason(reason);
  event.mutable_retrying()->set_attempt(submission.attempt + 1);
  return AppendNext(db, submission, std::move(event));
}

absl::StatusOr<std::vector<Renewal>> Renew(Db& db, const std::vector<Lease>& leases, absl::Time expires_at) {
  std::vector<const Lease*> asked;
  for (const Lease& lease : leases) asked.push_back(&lease);
  ASSIGN_OR_RETURN(const std::vector<absl::StatusOr<Submission>> all, AllHeld(db, asked));
  std::vector<Renewal> answers;
  for (const absl::StatusOr<Submission>& held : all) {
    answers.push_back(!held.ok() ? Renewal::kLost : held->cancelling ? Renewal::kCancelling : Renewal::kRenewed);
    if (!held.ok()) continue;
    RETURN_IF_ERROR(
        db.Prepare("UPDATE submissions SET expires_at = ? WHERE id = ?").Bind(expires_at).Bind(held->id).Run());
  }
  return answers;
}

absl::StatusOr<Cancellation> Cancel(Db& db, const std::string& tenant, const std::string& id,
                                    const sassay::v1::Verdict& verdict) {
  ASSIGN_OR_RETURN(Submission submission, Get(db, tenant, id));
  Cancellation answer{submission.state, absl::nullopt};
  if (submission.state == State::kQueued) {
    ASSIGN_OR_RETURN(answer.verdict, EndWith(db, submission, verdict));
  } else if (submission.state == State::kLeased) {
    RETURN_IF_ERROR(db.Prepare("UPDATE submissions SET cancelling = 1 WHERE id = ?").Bind(id).Run());
  }
  return answer;
}

absl::StatusOr<Event> FinishQueued(Db& db, const std::string& id, const sassay::v1::Verdict& verdict) {
  absl::StatusOr<Submission> submission;
  {
    Query query = db.Prepare(SASSAY_SELECT_SUBMISSION "WHERE id = ? AND " SASSAY_IN_STATE "0");
    ASSIGN_OR_RETURN(const bool waits, query.Bind(id).Step());
    if (!waits) return absl::AbortedError(absl::StrCat("submission ", id, " does not wait any more"));
    submission = ReadSubmission(query);
  }
  RETURN_IF_ERROR(submission.status());
  return EndWith(db, *submission, verdict);
}

absl::StatusOr<int> Trim(Db& db, absl::Time before, int limit) {
  ASSIGN_OR_RETURN(std::vector<std::string> ids, DecidedBefore(db, before, limit));
  ASSIGN_OR_RETURN(const bool look_again, db.LockSubmissions(ids));
  if (look_again) {
    ASSIGN_OR_RETURN(const std::vector<std::string> still, DecidedBefore(db, before, limit));
    ids = InBoth(std::move(ids), still);
  }
  for (const std::string& id : ids) {
    RETURN_IF_ERROR(db.Prepare("DELETE FROM events WHERE id = ?").Bind(id).Run());
    RETURN_IF_ERROR(db.Prepare("DELETE FROM verdicts WHERE id = ?").Bind(id).Run());
    RETURN_IF_ERROR(db.Prepare("DELETE FROM provisional WHERE id = ?").Bind(id).Run());
    RETURN_IF_ERROR(db.Prepare("DELETE FROM exclusions WHERE id = ?").Bind(id).Run());
    RETURN_IF_ERROR(db.Prepare("DELETE FROM attempts WHERE id = ?").Bind(id).Run());
    RETURN_IF_ERROR(db.Prepare("DELETE FROM submissions WHERE id = ?").Bind(id).Run());
  }
  RETURN_IF_ERROR(db.Prepare("DELETE FROM windows WHERE until < ?").Bind(before).Run());
  return static_cast<int>(ids.size());
}

absl::StatusOr<bool> SetWeight(Db& db, const std::string& tenant, uint32_t weight) {
  RETURN_IF_ERROR(
      db.Prepare("INSERT INTO weights (tenant, weight) VALUES (?, ?) ON CONFLICT (tenant) DO UPDATE SET weight = "
                 "excluded.weight")
          .Bind(tenant)
          .Bind(weight)
          .Run());
  return true;
}

absl::StatusOr<bool> Audit(Db& db, const AuditRecord& record) {
  RETURN_IF_ERROR(db.Prepare("INSERT INTO audit (at, actor, action, target, outcome, detail) VALUES (?, ?, ?, ?, ?, ?)")
                      .Bind(record.at)
                      .Bind(record.actor)
                      .Bind(record.action)
                      .Bind(record.target)
                      .Bind(record.outcome)
                      .Bind(record.detail)
                      .Run());
  return true;
}

}  // namespace sassay::store::sql
