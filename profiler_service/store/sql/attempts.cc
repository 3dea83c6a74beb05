#include "profiler_service/store/sql/attempts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sql/operations.h"
#include "profiler_service/store/sql/rows.h"

namespace sassay::store::sql {
namespace {

using sassay::v1::Event;
using sassay::v1::Exclusion;
using sassay::v1::Verdict;

// A clock that was set back makes an attempt end before it began: it had its place at both times.
void PutInOrder(absl::string_view gpu, absl::Time& seated_at, absl::Time& ended_at) {
  if (!gpu.empty() && seated_at > ended_at) std::swap(seated_at, ended_at);
}

absl::Status InsertAttempt(Db& db, Attempt attempt) {
  PutInOrder(attempt.gpu, attempt.seated_at, attempt.ended_at);
  return db
      .Prepare(
          "INSERT INTO attempts (id, attempt, gpu, seated_at, ended_at, gpu_ns, status) VALUES (?, ?, ?, ?, ?, ?, ?)")
      .Bind(attempt.id)
      .Bind(attempt.attempt)
      .Bind(attempt.gpu)
      .Bind(attempt.seated_at)
      .Bind(attempt.ended_at)
      .Bind(static_cast<int64_t>(attempt.gpu_ns))
      .Bind(static_cast<int64_t>(attempt.status))
      .Run();
}

// A node says how long it held a GPU, and what all said is added up for ever: nobody holds one for longer than a day,
// and no word makes the sum run over.
constexpr uint64_t kLongestHeldNs = 24ull * 3600 * 1'000'000'000;

uint64_t PlusHeld(uint64_t sum, uint64_t device_ns) {
  return std::min(kLongestHeldNs, sum + std::min(kLongestHeldNs, device_ns));
}

bool EndsAttempt(const Event& event) { return event.has_retrying() || event.has_excluded() || event.has_verdict(); }

// What the stages of the attempt that runs took, as its events say.
absl::StatusOr<uint64_t> GpuTimeSoFar(Db& db, const Submission& submission) {
  ASSIGN_OR_RETURN(const std::vector<Event> events,
                   Events(db, submission.id, 0, static_cast<int>(submission.last_sequence)));
  uint64_t gpu_ns = 0;
  for (const Event& event : events) {
    gpu_ns = EndsAttempt(event) ? 0 : PlusHeld(gpu_ns, event.stage_finished().report().device_ns());
  }
  return gpu_ns;
}

absl::Status CountLost(Db& db, const Submission& submission, uint64_t gpu_ns) {
  return db.Prepare(db.dialect().count_lost).Bind(static_cast<int64_t>(gpu_ns)).Bind(submission.tenant).Run();
}

absl::Status CountVerdict(Db& db, const Submission& submission, uint64_t gpu_ns) {
  return db.Prepare(db.dialect().count_verdict).Bind(static_cast<int64_t>(gpu_ns)).Bind(submission.tenant).Run();
}

absl::Status CountExcludedVerdict(Db& db, const Submission& submission) {
  Query query = db.Prepare("SELECT gpu_ns FROM attempts WHERE id = ? AND attempt = ?");
  ASSIGN_OR_RETURN(const bool ran, query.Bind(submission.id).Bind(submission.attempt).Step());
  const int64_t gpu_ns = ran ? query.Int(0) : 0;  // a copy's attempt was another's
  return db.Prepare(db.dialect().count_excluded).Bind(gpu_ns).Bind(submission.tenant).Run();
}

// An open window of the same incident on the same GPU is this one, seen earlier.
absl::Status RememberWindow(Db& db, const BadWindow& window) {
  RETURN_IF_ERROR(db.Prepare("DELETE FROM windows WHERE gpu = ? AND incident = ? AND until = ?")
                      .Bind(window.gpu)
                      .Bind(window.incident_id)
                      .Bind(absl::InfiniteFuture())
                      .Run());
  return db
      .Prepare(
          "INSERT INTO windows (gpu, incident, since, until, reason) VALUES (?, ?, ?, ?, ?) ON CONFLICT (gpu, "
          "incident, "
          "since) DO UPDATE SET until = excluded.until, reason = excluded.reason")
      .Bind(window.gpu)
      .Bind(window.incident_id)
      .Bind(window.from)
      .Bind(window.to)
      .Bind(window.reason)
      .Run();
}

absl::Status ReadAll(Query& query, std::vector<Submission>& submissions) {
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return absl::OkStatus();
    submissions.push_back(ReadSubmission(query));
  }
}

// Submissions that ended with a copy of one of these verdicts, which counts. Attempt 0: what was run later is its own.
absl::Status AddCopies(Db& db, std::vector<Submission>& submissions) {
  const size_t originals = submissions.size();
  return ForEach(
      db,
      SASSAY_SELECT_SUBMISSION
      "WHERE reused_from = ? AND reused_from <> '' AND attempt = 0 AND state = 2 AND NOT EXISTS (SELECT 1 FROM "
      "exclusions x WHERE x.id = submissions.id AND x.attempt = 0) ORDER BY place",
      originals, [&](size_t i, Query& query) { query.Bind(submissions[i].id); },
      [&](size_t, Query& query) { return ReadAll(query, submissions); });
}

// Finished submissions whose verdict comes of an attempt that overlaps and counts.
absl::StatusOr<std::vector<Submission>> StandingIn(Db& db, const BadWindow& window) {
  Query query = db.Prepare(
      SASSAY_SELECT_SUBMISSION
      "WHERE id IN (SELECT id FROM attempts WHERE gpu = ?1 AND ended_at > ?2 AND seated_at < ?3) AND state = 2 AND "
      "EXISTS (SELECT 1 FROM attempts a WHERE a.id = submissions.id AND a.attempt = submissions.attempt AND a.gpu = ?1 "
      "AND a.ended_at > ?2 AND a.seated_at < ?3 AND a.status NOT IN (0, 11)) AND NOT EXISTS (SELECT 1 FROM exclusions "
      "x "
      "WHERE x.id = submissions.id AND x.attempt = submissions.attempt) ORDER BY place");
  static_assert(sassay::v1::VERDICT_STATUS_UNSPECIFIED == 0 && sassay::v1::VERDICT_STATUS_CANCELLED == 11);
  query.Bind(window.gpu).Bind(window.from).Bind(window.to);
  std::vector<Submission> submissions;
  RETURN_IF_ERROR(ReadAll(query, submissions));
  RETURN_IF_ERROR(AddCopies(db, submissions));
  return submissions;
}

std::vector<std::string> IdsOf(const std::vector<Submission>& submissions) {
  std::vector<std::string> ids;
  for (const Submission& submission : submissions) ids.push_back(submission.id);
  return ids;
}

absl::StatusOr<std::vector<std::string>> ExcludedBy(Db& db, const BadWindow& window) {
  Query query = db.Prepare(
      "SELECT x.id FROM exclusions x JOIN attempts a ON a.id = x.id AND a.attempt = x.attempt WHERE a.gpu = ?1 AND "
      "a.ended_at > ?2 AND a.seated_at < ?3 AND x.incident = ?4 UNION SELECT c.id FROM exclusions x JOIN attempts a ON "
      "a.id = x.id AND a.attempt = x.attempt JOIN submissions c ON c.reused_from = x.id JOIN exclusions y ON y.id = "
      "c.id AND y.attempt = 0 WHERE a.gpu = ?1 AND a.ended_at > ?2 AND a.seated_at < ?3 AND x.incident = ?4 AND "
      "c.reused_from <> '' AND y.incident = ?4 ORDER BY 1");
  query.Bind(window.gpu).Bind(window.from).Bind(window.to).Bind(window.incident_id);
  std::vector<std::string> ids;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return ids;
    ids.push_back(query.Text(0));
  }
}

absl::StatusOr<std::vector<Attempt>> ReadAttempts(Query query) {
  std::vector<Attempt> attempts;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return attempts;
    Attempt& attempt = attempts.emplace_back();
    attempt.id = query.Text(0);
    attempt.attempt = static_cast<uint32_t>(query.Int(1));
    attempt.gpu = query.Text(2);
    attempt.seated_at = query.Time(3);
    attempt.ended_at = query.Time(4);
    attempt.gpu_ns = static_cast<uint64_t>(query.Int(5));
    attempt.status = static_cast<sassay::v1::VerdictStatus>(query.Int(6));
    if (query.Int(7) == 0) continue;
    attempt.excluded.emplace();
    attempt.excluded->set_incident_id(query.Text(8));
    attempt.excluded->set_reason(query.Text(9));
  }
}

}  // namespace

#define SASSAY_SELECT_ATTEMPT                                                                                     \
  "SELECT a.id, a.attempt, a.gpu, a.seated_at, a.ended_at, a.gpu_ns, a.status, x.place IS NOT NULL, x.incident, " \
  "x.reason FROM attempts a LEFT JOIN exclusions x ON x.id = a.id AND x.attempt = a.attempt "

uint64_t GpuTimeOf(const Verdict& verdict) {
  uint64_t sum = 0;
  for (const sassay::v1::StageReport& stage : verdict.stages())
    sum = PlusHeld(sum, stage.cached() ? 0 : stage.device_ns());
  return sum;
}

absl::StatusOr<Event> PutNext(Db& db, Submission& submission, Event event) {
  event.set_submission_id(submission.id);
  event.set_sequence(submission.last_sequence + 1);
  event.clear_last();  // whether it is changes; Events says it
  RETURN_IF_ERROR(InsertEvent(db, event));
  submission.last_sequence = event.sequence();
  return event;
}

absl::Status SaveLast(Db& db, const Submission& submission) {
  return db.Prepare("UPDATE submissions SET last_sequence = ? WHERE id = ?")
      .Bind(static_cast<int64_t>(submission.last_sequence))
      .Bind(submission.id)
      .Run();
}

absl::StatusOr<Event> AppendNext(Db& db, Submission& submission, Event event) {
  ASSIGN_OR_RETURN(event, PutNext(db, submission, std::move(event)));
  RETURN_IF_ERROR(SaveLast(db, submission));
  return event;
}

absl::StatusOr<Event> EndWith(Db& db, Submission& submission, const Verdict& verdict) {
  Event event;
  *event.mutable_at() = verdict.decided_at();
  *event.mutable_verdict() = verdict;
  event.mutable_verdict()->set_submission_id(submission.id);
  ASSIGN_OR_RETURN(event, AppendNext(db, submission, std::move(event)));
  RETURN_IF_ERROR(db.Prepare("INSERT INTO verdicts (id, sequence, status, decided_at) VALUES (?, ?, ?, ?)")
                      .Bind(submission.id)
                      .Bind(static_cast<int64_t>(event.sequence()))
                      .Bind(static_cast<int64_t>(verdict.status()))
                      .Bind(TimeOf(verdict.decided_at()))
                      .Run());
  RETURN_IF_ERROR(db.Prepare("UPDATE submissions SET state = 2, owner = '' WHERE id = ?").Bind(submission.id).Run());
  RETURN_IF_ERROR(CountVerdict(db, submission, GpuTimeOf(verdict)));
  event.set_last(true);
  return event;
}

absl::Status RecordFinished(Db& db, const Submission& submission, const Verdict& verdict, const Ending& ending) {
  const absl::Time ended_at = TimeOf(verdict.decided_at());
  RETURN_IF_ERROR(InsertAttempt(db, {submission.id, submission.attempt, ending.gpu, ending.seated_at, ended_at,
                                     GpuTimeOf(verdict), verdict.status(), absl::nullopt}));
  if (verdict.timing().status() != sassay::v1::Timing::PROVISIONAL) return absl::OkStatus();
  return db.Prepare("INSERT INTO provisional (id, attempt, gpu, ended_at) VALUES (?, ?, ?, ?)")
      .Bind(submission.id)
      .Bind(submission.attempt)
      .Bind(ending.gpu)
      .Bind(ended_at)
      .Run();
}

absl::StatusOr<uint64_t> RecordLost(Db& db, const Submission& submission, const Ending& ending, absl::Time now) {
  ASSIGN_OR_RETURN(const uint64_t gpu_ns, GpuTimeSoFar(db, submission));
  RETURN_IF_ERROR(InsertAttempt(db, {submission.id, submission.attempt, ending.gpu, ending.seated_at, now, gpu_ns,
                                     sassay::v1::VERDICT_STATUS_UNSPECIFIED, absl::nullopt}));
  RETURN_IF_ERROR(CountLost(db, submission, gpu_ns));
  return gpu_ns;
}

absl::StatusOr<absl::optional<Exclusion>> FindWindow(Db& db, absl::string_view gpu, absl::Time seated_at,
                                                     absl::Time ended_at) {
  if (gpu.empty()) return absl::optional<Exclusion>();
  PutInOrder(gpu, seated_at, ended_at);
  Query query = db.Prepare(
      "SELECT incident, reason FROM windows WHERE gpu = ? AND until > ? AND since < ? ORDER BY since LIMIT 1");
  ASSIGN_OR_RETURN(const bool found, query.Bind(gpu).Bind(seated_at).Bind(ended_at).Step());
  if (!found) return absl::optional<Exclusion>();
  Exclusion exclusion;
  exclusion.set_incident_id(query.Text(0));
  exclusion.set_reason(query.Text(1));
  return absl::optional<Exclusion>(std::move(exclusion));
}

absl::StatusOr<Event> MarkExcluded(Db& db, Submission& submission, const Exclusion& exclusion, bool rerun,
                                   absl::Time now) {
  Event event;
  SetTimestamp(now, *event.mutable_at());
  event.mutable_excluded()->set_attempt(submission.attempt);
  *event.mutable_excluded()->mutable_exclusion() = exclusion;
  event.mutable_excluded()->set_rerun(rerun);
  ASSIGN_OR_RETURN(event, AppendNext(db, submission, std::move(event)));
  RETURN_IF_ERROR(db.LockExclusions());
  RETURN_IF_ERROR(db.Prepare("INSERT INTO exclusions (id, attempt, tenant, at, incident, reason, rerun, sequence) "
                             "VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
                      .Bind(submission.id)
                      .Bind(submission.attempt)
                      .Bind(submission.tenant)
                      .Bind(now)
                      .Bind(exclusion.incident_id())
                      .Bind(exclusion.reason())
                      .Bind(rerun ? 1 : 0)
                      .Bind(static_cast<int64_t>(event.sequence()))
                      .Run());
  RETURN_IF_ERROR(
      db.Prepare("UPDATE submissions SET exclusions = exclusions + 1 WHERE id = ?").Bind(submission.id).Run());
  event.set_last(!rerun);
  return event;
}

absl::StatusOr<Event> ExcludeVerdict(Db& db, Submission& submission, const Exclusion& exclusion, bool rerun,
                                     absl::Time now) {
  ASSIGN_OR_RETURN(Event event, MarkExcluded(db, submission, exclusion, rerun, now));
  RETURN_IF_ERROR(db.Prepare("DELETE FROM provisional WHERE id = ?").Bind(submission.id).Run());
  RETURN_IF_ERROR(CountExcludedVerdict(db, submission));
  if (!rerun) return event;
  RETURN_IF_ERROR(db.Prepare("DELETE FROM verdicts WHERE id = ?").Bind(submission.id).Run());
  RETURN_IF_ERROR(db.Prepare("UPDATE submissions SET state = 0, queue_deadline = ? WHERE id = ?")
                      .Bind(absl::InfiniteFuture())
                      .Bind(submission.id)
                      .Run());
  return event;
}

absl::StatusOr<Exclusions> Exclude(Db& db, const BadWindow& window, uint32_t max_exclusions, absl::Time now) {
  RETURN_IF_ERROR(RememberWindow(db, window));
  Exclusion exclusion;
  exclusion.set_incident_id(window.incident_id);
  exclusion.set_reason(window.reason);
  Exclusions answer;
  ASSIGN_OR_RETURN(std::vector<Submission> standing, StandingIn(db, window));
  ASSIGN_OR_RETURN(const bool look_again, db.LockSubmissions(IdsOf(standing)));
  if (look_again) {
    ASSIGN_OR_RETURN(standing, StandingIn(db, window));
  }
  for (Submission& submission : standing) {
    const bool rerun = submission.exclusions < max_exclusions;
    ASSIGN_OR_RETURN(answer.events.emplace_back(), ExcludeVerdict(db, submission, exclusion, rerun, now));
  }
  ASSIGN_OR_RETURN(answer.submission_ids, ExcludedBy(db, window));
  return answer;
}

absl::StatusOr<std::vector<BadWindow>> OpenWindows(Db& db) {
  Query query = db.Prepare("SELECT gpu, since, incident, reason FROM windows WHERE until = ? ORDER BY since");
  query.Bind(absl::InfiniteFuture());
  std::vector<BadWindow> windows;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return windows;
    windows.push_back({query.Text(0), query.Time(1), absl::InfiniteFuture(), query.Text(2), query.Text(3)});
  }
}

absl::StatusOr<bool> CloseWindows(Db& db, const std::string& gpu, absl::Time now) {
  RETURN_IF_ERROR(db.Prepare("UPDATE windows SET until = ? WHERE gpu = ? AND until = ?")
                      .Bind(now)
                      .Bind(gpu)
                      .Bind(absl::InfiniteFuture())
                      .Run());
  return true;
}

absl::StatusOr<Event> SettleTiming(Db& db, const std::string& id, uint32_t attempt, const std::string& warning,
                                   absl::Time now) {
  absl::StatusOr<Submission> submission;
  {
    Query query =
        db.Prepare(SASSAY_SELECT_SUBMISSION "WHERE id IN (SELECT id FROM provisional WHERE id = ? AND attempt = ?)");
    ASSIGN_OR_RETURN(const bool found, query.Bind(id).Bind(attempt).Step());
    if (!found) {
      return absl::AbortedError(absl::StrCat("submission ", id, ", attempt ", attempt, ": its timing is not open"));
    }
    submission = ReadSubmission(query);
  }
  RETURN_IF_ERROR(db.Prepare("DELETE FROM provisional WHERE id = ?").Bind(id).Run());
  Event event;
  SetTimestamp(now, *event.mutable_at());
  event.mutable_timing_settled()->set_attempt(attempt);
  event.mutable_timing_settled()->set_warning(warning);
  ASSIGN_OR_RETURN(event, AppendNext(db, *submission, std::move(event)));
  event.set_last(true);
  return event;
}

absl::StatusOr<std::vector<Provisional>> Provisionals(Db& db) {
  Query query = db.Prepare(
      "SELECT p.id, p.attempt, p.gpu, p.ended_at, a.seated_at FROM provisional p JOIN attempts a ON a.id = p.id AND "
      "a.attempt = p.attempt ORDER BY p.ended_at");
  std::vector<Provisional> open;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return open;
    open.push_back({query.Text(0), static_cast<uint32_t>(query.Int(1)), query.Text(2), query.Time(3), query.Time(4)});
  }
}

absl::StatusOr<std::vector<ExcludedEvent>> ExcludedSince(Db& db, absl::string_view tenant, absl::Time from,
                                                         uint64_t after, int limit) {
  Query query = db.Prepare(
      "SELECT x.place, e.event, x.rerun = 0 FROM exclusions x JOIN events e ON e.id = x.id AND e.sequence = x.sequence "
      "WHERE x.tenant = ? AND x.place > ? AND x.at >= ? ORDER BY x.place LIMIT ?");
  query.Bind(tenant).Bind(static_cast<int64_t>(after)).Bind(from).Bind(limit);
  std::vector<ExcludedEvent> events;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return events;
    ExcludedEvent& excluded = events.emplace_back();
    excluded.place = static_cast<uint64_t>(query.Int(0));
    if (!excluded.event.ParseFromString(query.Blob(1))) {
      return absl::DataLossError(absl::StrCat("the exclusion at place ", excluded.place, " cannot be read"));
    }
    excluded.event.set_last(query.Int(2) != 0);
  }
}

absl::StatusOr<uint64_t> LastExcluded(Db& db) {
  Query query = db.Prepare("SELECT coalesce(max(place), 0) FROM exclusions");
  RETURN_IF_ERROR(query.Step().status());
  return static_cast<uint64_t>(query.Int(0));
}

absl::StatusOr<std::vector<Attempt>> AttemptsOn(Db& db, absl::string_view gpu, absl::Time from, absl::Time to) {
  Query query = db.Prepare(SASSAY_SELECT_ATTEMPT
                           "WHERE a.gpu = ? AND a.ended_at > ? AND a.seated_at < ? ORDER BY a.ended_at, a.id");
  query.Bind(gpu).Bind(from).Bind(to);
  return ReadAttempts(std::move(query));
}

absl::StatusOr<std::vector<Attempt>> AttemptsOf(Db& db, absl::string_view id) {
  Query query = db.Prepare(SASSAY_SELECT_ATTEMPT "WHERE a.id = ? ORDER BY a.attempt");
  query.Bind(id);
  return ReadAttempts(std::move(query));
}

}  // namespace sassay::store::sql
