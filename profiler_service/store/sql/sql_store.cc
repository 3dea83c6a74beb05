#include "profiler_service/store/sql/sql_store.h"

#include <utility>

#include "profiler_service/store/sql/attempts.h"
#include "profiler_service/store/sql/dispatch.h"
#include "profiler_service/store/sql/operations.h"

namespace sassay::store::sql {
namespace {

using sassay::v1::Event;
using sassay::v1::Verdict;

// Nobody else writes here.
class NoWatch : public Watch {};

Scope On(absl::string_view id, Windows windows = Windows::kNone) {
  Scope scope;
  scope.submissions.emplace_back(id);
  scope.windows = windows;
  return scope;
}

Scope Alone(Windows windows = Windows::kNone) {
  Scope scope;
  scope.windows = windows;
  scope.alone = true;
  return scope;
}

// What an event tells others besides itself.
void Tell(const Event& event, Changes& changes) {
  if (changes.submissions.empty() || changes.submissions.back() != event.submission_id()) {
    changes.submissions.push_back(event.submission_id());
  }
  changes.work |= event.has_retrying() || event.excluded().rerun();
  changes.exclusions |= event.has_excluded();
}

void TellAll(const std::vector<Event>& events, Changes& changes) {
  for (const Event& event : events) Tell(event, changes);
}

}  // namespace

std::unique_ptr<Db> Readers::Take() {
  absl::MutexLock lock(&mutex_, absl::Condition(this, &Readers::OneIsIdle));
  std::unique_ptr<Db> db = std::move(idle_.back());
  idle_.pop_back();
  return db;
}

void Readers::Give(std::unique_ptr<Db> db) {
  absl::MutexLock lock(&mutex_);
  idle_.push_back(std::move(db));
}

SqlStore::SqlStore(std::unique_ptr<Db> writer, std::vector<std::unique_ptr<Db>> readers, size_t at_once,
                   std::unique_ptr<Announcer> announcer)
    : announcer_(std::move(announcer)), readers_(std::move(readers)), writer_(std::move(writer), at_once) {}

std::unique_ptr<Watch> SqlStore::Observe(Observer observer) {
  if (announcer_ == nullptr) return std::make_unique<NoWatch>();
  return announcer_->Observe(std::move(observer));
}

template <typename T>
Callback<T> SqlStore::Announced(Callback<T> done, std::function<void(const T&, Changes&)> changes) {
  if (announcer_ == nullptr) return done;
  return [this, done = std::move(done), changes = std::move(changes)](absl::StatusOr<T> answer) {
    Changes changed;
    if (answer.ok()) changes(*answer, changed);
    if (!changed.empty()) announcer_->Announce(changed);
    done(std::move(answer));
  };
}

template <typename T>
void SqlStore::Post(Operation<T> operation, Scope scope, Callback<T> done,
                    std::function<void(const T&, Changes&)> changes) {
  writer_.Post<T>(std::move(operation), Announced(std::move(done), std::move(changes)), std::move(scope));
}

template <typename T>
absl::StatusOr<T> SqlStore::Write(Operation<T> operation, Scope scope, const Changes& changes) {
  return Await<T>([&](Callback<T> done) {
    Post<T>(std::move(operation), std::move(scope), std::move(done),
            [changes](const T&, Changes& changed) { changed = changes; });
  });
}

absl::Status SqlStore::Record(Operation<bool> operation, const Changes& changes) {
  Scope scope;
  scope.records = true;
  return Write<bool>(std::move(operation), std::move(scope), changes).status();
}

// ---- writes ----

void SqlStore::Submit(NewSubmission submission, Callback<Submitted> done) {
  Scope scope;
  scope.admits = true;
  // What excludes a verdict must not miss a copy that is being made of it.
  if (submission.reuse.copy) scope.windows = Windows::kRead;
  const auto tell = [](const Submitted& submitted, Changes& changes) {
    changes.work = submitted.created && !submitted.verdict.has_value();
  };
  writer_.Post<NewSubmission, Submitted>(sql::Submit, std::move(submission),
                                         Announced<Submitted>(std::move(done), tell), std::move(scope));
}

void SqlStore::Acquire(const Asker& asker, absl::Time now, absl::Time expires_at,
                       Callback<absl::optional<Lease>> done) {
  Scope scope;
  scope.dispatches = true;
  scope.durability = Durability::kProcess;
  Post<absl::optional<Lease>>([asker, now, expires_at](Db& db) { return sql::Acquire(db, asker, now, expires_at); },
                              std::move(scope), std::move(done), [](const absl::optional<Lease>&, Changes&) {});
}

void SqlStore::Append(const Lease& lease, Event event, Callback<Event> done) {
  writer_.Post<Appending, Event>(sql::Append, {lease, std::move(event)}, Announced<Event>(std::move(done), Tell),
                                 On(lease.submission.id));
}

void SqlStore::Finish(const Lease& lease, Verdict verdict, const Ending& ending, Callback<std::vector<Event>> done) {
  Post<std::vector<Event>>(
      [lease, verdict = std::move(verdict), ending](Db& db) { return sql::Finish(db, lease, verdict, ending); },
      On(lease.submission.id, Windows::kRead), std::move(done), TellAll);
}

void SqlStore::Return(const Lease& lease, absl::string_view reason, Ended ended, const Ending& ending, absl::Time now,
                      Callback<Event> done) {
  Post<Event>([lease, reason = std::string(reason), ended, ending,
               now](Db& db) { return sql::Return(db, lease, reason, ended, ending, now); },
              On(lease.submission.id, Windows::kRead), std::move(done), Tell);
}

absl::StatusOr<std::vector<Renewal>> SqlStore::Renew(const std::vector<Lease>& leases, absl::Time expires_at) {
  Scope scope;
  for (const Lease& lease : leases) scope.submissions.push_back(lease.submission.id);
  return Write<std::vector<Renewal>>([leases, expires_at](Db& db) { return sql::Renew(db, leases, expires_at); },
                                     std::move(scope));
}

void SqlStore::Cancel(absl::string_view tenant, absl::string_view id, Verdict verdict, Callback<Cancellation> done) {
  Post<Cancellation>([tenant = std::string(tenant), id = std::string(id),
                      verdict = std::move(verdict)](Db& db) { return sql::Cancel(db, tenant, id, verdict); },
                     On(id), std::move(done),
                     [id = std::string(id)](const Cancellation& cancellation, Changes& changes) {
                       if (cancellation.state == State::kQueued) changes.submissions.push_back(id);
                       if (cancellation.state == State::kLeased) changes.cancelling.push_back(id);
                     });
}

void SqlStore::FinishQueued(absl::string_view id, Verdict verdict, Callback<Event> done) {
  Post<Event>(
      [id = std::string(id), verdict = std::move(verdict)](Db& db) { return sql::FinishQueued(db, id, verdict); },
      On(id), std::move(done), Tell);
}

absl::StatusOr<int> SqlStore::Trim(absl::Time before, int limit) {
  return Write<int>([before, limit](Db& db) { return sql::Trim(db, before, limit); }, Alone());
}

void SqlStore::Exclude(const BadWindow& window, uint32_t max_exclusions, absl::Time now, Callback<Exclusions> done) {
  Post<Exclusions>([window, max_exclusions, now](Db& db) { return sql::Exclude(db, window, max_exclusions, now); },
                   Alone(Windows::kWrite), std::move(done),
                   [](const Exclusions& excluded, Changes& changes) {
                     changes.exclusions = true;  // a window more, in any case
                     TellAll(excluded.events, changes);
                   });
}

absl::Status SqlStore::CloseWindows(absl::string_view gpu, absl::Time now) {
  Scope scope;
  scope.windows = Windows::kWrite;
  return Write<bool>([gpu = std::string(gpu), now](Db& db) { return sql::CloseWindows(db, gpu, now); },
                     std::move(scope))
      .status();
}

void SqlStore::SettleTiming(absl::string_view id, uint32_t attempt, absl::string_view warning, absl::Time now,
                            Callback<Event> done) {
  Post<Event>([id = std::string(id), attempt, warning = std::string(warning),
               now](Db& db) { return sql::SettleTiming(db, id, attempt, warning, now); },
              On(id), std::move(done), Tell);
}

absl::Status SqlStore::PlaceHold(const Hold& hold) {
  Changes changes;
  changes.holds = true;
  return Record([hold](Db& db) { return sql::PlaceHold(db, hold); }, changes);
}

absl::Status SqlStore::LiftHold(absl::string_view gpu, absl::string_view holder) {
  Changes changes;
  changes.holds = true;
  return Record(
      [gpu = std::string(gpu), holder = std::string(holder)](Db& db) { return sql::LiftHold(db, gpu, holder); },
      changes);
}

absl::Status SqlStore::RecordIncident(const sassay::v1::Incident& incident) {
  Changes changes;
  changes.incidents = true;
  return Record([incident](Db& db) { return sql::RecordIncident(db, incident); }, changes);
}

absl::Status SqlStore::PutNode(const NodeRecord& node) {
  return Record([node](Db& db) { return sql::PutNode(db, node); });
}

absl::Status SqlStore::DropNode(absl::string_view name, absl::string_view instance) {
  return Record([name = std::string(name), instance = std::string(instance)](Db& db) {
    return sql::DropNode(db, name, instance);
  });
}

absl::Status SqlStore::SetWeight(absl::string_view tenant, uint32_t weight) {
  return Record([tenant = std::string(tenant), weight](Db& db) { return sql::SetWeight(db, tenant, weight); });
}

absl::Status SqlStore::Audit(const AuditRecord& record) {
  return Record([record](Db& db) { return sql::Audit(db, record); });
}

// ---- reads ----

absl::StatusOr<absl::optional<std::string>> SqlStore::FindEarlier(absl::string_view tenant,
                                                                  const sassay::v1::ProfileRequest& request) {
  return Read<absl::optional<std::string>>([&](Db& db) { return sql::FindEarlier(db, tenant, request); });
}

absl::StatusOr<std::vector<Submission>> SqlStore::PastQueueDeadline(absl::Time now, int limit) {
  return Read<std::vector<Submission>>([&](Db& db) { return sql::PastQueueDeadline(db, now, limit); });
}

absl::StatusOr<absl::Time> SqlStore::NextQueueDeadline() { return Read<absl::Time>(sql::NextQueueDeadline); }

absl::StatusOr<std::vector<Lease>> SqlStore::LeasesExpiredBy(absl::Time now) {
  return Read<std::vector<Lease>>([&](Db& db) { return sql::LeasesExpiredBy(db, now); });
}

absl::StatusOr<Submission> SqlStore::Leased(const Lease& lease) {
  return Read<Submission>([&](Db& db) { return sql::Leased(db, lease); });
}

absl::StatusOr<std::vector<Lease>> SqlStore::LeasesOf(absl::string_view prefix) {
  return Read<std::vector<Lease>>([&](Db& db) { return sql::LeasesOf(db, prefix); });
}

absl::StatusOr<Submission> SqlStore::Get(absl::string_view tenant, absl::string_view id) {
  return Read<Submission>([&](Db& db) { return sql::Get(db, tenant, id); });
}

absl::StatusOr<std::vector<Event>> SqlStore::Events(absl::string_view id, uint64_t after, int limit) {
  return Read<std::vector<Event>>([&](Db& db) { return sql::Events(db, id, after, limit); });
}

absl::StatusOr<std::vector<ProgressOf>> SqlStore::Progress(const std::vector<std::string>& ids) {
  return Read<std::vector<ProgressOf>>([&](Db& db) { return sql::Progress(db, ids); });
}

absl::StatusOr<Depths> SqlStore::CountDepths() { return Read<Depths>(sql::CountDepths); }

absl::StatusOr<std::vector<BadWindow>> SqlStore::OpenWindows() {
  return Read<std::vector<BadWindow>>(sql::OpenWindows);
}

absl::StatusOr<std::vector<ExcludedEvent>> SqlStore::ExcludedSince(absl::string_view tenant, absl::Time from,
                                                                   uint64_t after, int limit) {
  return Read<std::vector<ExcludedEvent>>([&](Db& db) { return sql::ExcludedSince(db, tenant, from, after, limit); });
}

absl::StatusOr<uint64_t> SqlStore::LastExcluded() { return Read<uint64_t>(sql::LastExcluded); }

absl::StatusOr<std::vector<Attempt>> SqlStore::AttemptsOn(absl::string_view gpu, absl::Time from, absl::Time to) {
  return Read<std::vector<Attempt>>([&](Db& db) { return sql::AttemptsOn(db, gpu, from, to); });
}

absl::StatusOr<std::vector<Attempt>> SqlStore::AttemptsOf(absl::string_view id) {
  return Read<std::vector<Attempt>>([&](Db& db) { return sql::AttemptsOf(db, id); });
}

absl::StatusOr<std::vector<Provisional>> SqlStore::Provisionals() {
  return Read<std::vector<Provisional>>(sql::Provisionals);
}

absl::StatusOr<std::vector<Hold>> SqlStore::Holds() { return Read<std::vector<Hold>>(sql::Holds); }

absl::StatusOr<std::vector<IncidentRecord>> SqlStore::IncidentsSince(absl::Time from, uint64_t after, int limit) {
  return Read<std::vector<IncidentRecord>>([&](Db& db) { return sql::IncidentsSince(db, from, after, limit); });
}

absl::StatusOr<uint64_t> SqlStore::LastIncident() { return Read<uint64_t>(sql::LastIncident); }

absl::StatusOr<std::vector<sassay::v1::TenantUsage>> SqlStore::Usage(absl::string_view tenant, absl::Time now) {
  return Read<std::vector<sassay::v1::TenantUsage>>([&](Db& db) { return sql::Usage(db, tenant, now); });
}

absl::StatusOr<std::vector<NodeRecord>> SqlStore::Nodes() { return Read<std::vector<NodeRecord>>(sql::Nodes); }

absl::StatusOr<std::vector<AuditRecord>> SqlStore::AuditLog(uint64_t after, int limit) {
  return Read<std::vector<AuditRecord>>([&](Db& db) { return sql::AuditLog(db, after, limit); });
}

}  // namespace sassay::store::sql
