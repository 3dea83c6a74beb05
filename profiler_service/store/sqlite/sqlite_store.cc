#include "profiler_service/store/sqlite/sqlite_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/fd.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sqlite/sqlite_attempts.h"
#include "profiler_service/store/sqlite/sqlite_operations.h"
#include "profiler_service/store/sqlite/sqlite_writer.h"

namespace sassay::store {
namespace {

using sassay::v1::Event;
using sassay::v1::Verdict;

// Held for the life of the store; the kernel lets go of it however the process ends.
absl::StatusOr<UniqueFd> LockForThisProcess(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd.valid()) return absl::UnavailableError(absl::StrCat("cannot open ", path, ": ", strerror(errno)));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return absl::FailedPreconditionError(
      absl::StrCat(path, " is locked: another profiler-service uses this state; stop it or choose another --state"));
}

class SqliteStore : public Store {
 public:
  SqliteStore(UniqueFd lock, std::unique_ptr<Db> writer, std::unique_ptr<Db> reader)
      : lock_(std::move(lock)), reader_(std::move(reader)), writer_(std::move(writer)) {}

  void Submit(NewSubmission submission, Callback<Submitted> done) override {
    writer_.Post<Submitted>([submission = std::move(submission)](Db& db) { return sqlite::Submit(db, submission); },
                            std::move(done));
  }

  void Acquire(absl::string_view owner, absl::Time now, absl::Time expires_at,
               Callback<absl::optional<Lease>> done) override {
    writer_.Post<absl::optional<Lease>>(
        [owner = std::string(owner), now, expires_at](Db& db) { return sqlite::Acquire(db, owner, now, expires_at); },
        std::move(done), Durability::kProcess);
  }

  void Append(const Lease& lease, Event event, Callback<Event> done) override {
    writer_.Post<Event>([lease, event = std::move(event)](Db& db) { return sqlite::Append(db, lease, event); },
                        std::move(done));
  }

  void Finish(const Lease& lease, Verdict verdict, const Ending& ending, Callback<std::vector<Event>> done) override {
    writer_.Post<std::vector<Event>>(
        [lease, verdict = std::move(verdict), ending](Db& db) { return sqlite::Finish(db, lease, verdict, ending); },
        std::move(done));
  }

  void Return(const Lease& lease, absl::string_view reason, Ended ended, const Ending& ending, absl::Time now,
              Callback<Event> done) override {
    writer_.Post<Event>([lease, reason = std::string(reason), ended, ending,
                         now](Db& db) { return sqlite::Return(db, lease, reason, ended, ending, now); },
                        std::move(done));
  }

  absl::StatusOr<std::vector<Renewal>> Renew(const std::vector<Lease>& leases, absl::Time expires_at) override {
    return Write<std::vector<Renewal>>([leases, expires_at](Db& db) { return sqlite::Renew(db, leases, expires_at); });
  }

  void Cancel(absl::string_view tenant, absl::string_view id, Verdict verdict, Callback<Cancellation> done) override {
    writer_.Post<Cancellation>([tenant = std::string(tenant), id = std::string(id), verdict = std::move(verdict)](
                                   Db& db) { return sqlite::Cancel(db, tenant, id, verdict); },
                               std::move(done));
  }

  void FinishQueued(absl::string_view id, Verdict verdict, Callback<Event> done) override {
    writer_.Post<Event>(
        [id = std::string(id), verdict = std::move(verdict)](Db& db) { return sqlite::FinishQueued(db, id, verdict); },
        std::move(done));
  }

  absl::StatusOr<absl::optional<std::string>> FindEarlier(absl::string_view tenant,
                                                          const sassay::v1::ProfileRequest& request) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::FindEarlier(*reader_, tenant, request);
  }
  absl::StatusOr<std::vector<Submission>> PastQueueDeadline(absl::Time now, int limit) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::PastQueueDeadline(*reader_, now, limit);
  }
  absl::StatusOr<absl::Time> NextQueueDeadline() override {
    absl::MutexLock lock(&mutex_);
    return sqlite::NextQueueDeadline(*reader_);
  }
  absl::StatusOr<std::vector<Lease>> LeasesExpiredBy(absl::Time now) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::LeasesExpiredBy(*reader_, now);
  }
  absl::StatusOr<Submission> Get(absl::string_view tenant, absl::string_view id) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::Get(*reader_, tenant, id);
  }
  absl::StatusOr<std::vector<Event>> Events(absl::string_view id, uint64_t after, int limit) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::Events(*reader_, id, after, limit);
  }
  absl::StatusOr<Depths> CountDepths() override {
    absl::MutexLock lock(&mutex_);
    return sqlite::CountDepths(*reader_);
  }

  absl::StatusOr<int> Trim(absl::Time before, int limit) override {
    return Write<int>([before, limit](Db& db) { return sqlite::Trim(db, before, limit); });
  }

  void Exclude(const BadWindow& window, uint32_t max_exclusions, absl::Time now, Callback<Exclusions> done) override {
    writer_.Post<Exclusions>(
        [window, max_exclusions, now](Db& db) { return sqlite::Exclude(db, window, max_exclusions, now); },
        std::move(done));
  }
  absl::StatusOr<std::vector<BadWindow>> OpenWindows() override {
    absl::MutexLock lock(&mutex_);
    return sqlite::OpenWindows(*reader_);
  }
  absl::Status CloseWindows(absl::string_view gpu, absl::Time now) override {
    return Write<bool>([gpu = std::string(gpu), now](Db& db) { return sqlite::CloseWindows(db, gpu, now); }).status();
  }
  absl::StatusOr<std::vector<ExcludedEvent>> ExcludedSince(absl::string_view tenant, absl::Time from, uint64_t after,
                                                           int limit) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::ExcludedSince(*reader_, tenant, from, after, limit);
  }
  absl::StatusOr<uint64_t> LastExcluded() override {
    absl::MutexLock lock(&mutex_);
    return sqlite::LastExcluded(*reader_);
  }
  absl::StatusOr<std::vector<Attempt>> AttemptsOn(absl::string_view gpu, absl::Time from, absl::Time to) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::AttemptsOn(*reader_, gpu, from, to);
  }
  absl::StatusOr<std::vector<Attempt>> AttemptsOf(absl::string_view id) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::AttemptsOf(*reader_, id);
  }

  void SettleTiming(absl::string_view id, uint32_t attempt, absl::string_view warning, absl::Time now,
                    Callback<Event> done) override {
    writer_.Post<Event>([id = std::string(id), attempt, warning = std::string(warning),
                         now](Db& db) { return sqlite::SettleTiming(db, id, attempt, warning, now); },
                        std::move(done));
  }
  absl::StatusOr<std::vector<Provisional>> Provisionals() override {
    absl::MutexLock lock(&mutex_);
    return sqlite::Provisionals(*reader_);
  }

  absl::Status PlaceHold(const Hold& hold) override {
    return Write<bool>([hold](Db& db) { return sqlite::PlaceHold(db, hold); }).status();
  }
  absl::Status LiftHold(absl::string_view gpu, absl::string_view holder) override {
    return Write<bool>([gpu = std::string(gpu), holder = std::string(holder)](Db& db) {
             return sqlite::LiftHold(db, gpu, holder);
           })
        .status();
  }
  absl::StatusOr<std::vector<Hold>> Holds() override {
    absl::MutexLock lock(&mutex_);
    return sqlite::Holds(*reader_);
  }

  absl::Status RecordIncident(const sassay::v1::Incident& incident) override {
    return Write<bool>([incident](Db& db) { return sqlite::RecordIncident(db, incident); }).status();
  }
  absl::StatusOr<std::vector<IncidentRecord>> IncidentsSince(absl::Time from, uint64_t after, int limit) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::IncidentsSince(*reader_, from, after, limit);
  }
  absl::StatusOr<uint64_t> LastIncident() override {
    absl::MutexLock lock(&mutex_);
    return sqlite::LastIncident(*reader_);
  }
  absl::StatusOr<std::vector<sassay::v1::TenantUsage>> Usage(absl::string_view tenant) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::Usage(*reader_, tenant);
  }

  absl::Status Audit(const AuditRecord& record) override {
    return Write<bool>([record](Db& db) { return sqlite::Audit(db, record); }).status();
  }
  absl::StatusOr<std::vector<AuditRecord>> AuditLog(uint64_t after, int limit) override {
    absl::MutexLock lock(&mutex_);
    return sqlite::AuditLog(*reader_, after, limit);
  }

 private:
  // Waits for a write.
  template <typename T>
  absl::StatusOr<T> Write(std::function<absl::StatusOr<T>(Db&)> operation) {
    return Await<T>([&](Callback<T> done) { writer_.Post<T>(std::move(operation), std::move(done)); });
  }

  const UniqueFd lock_;
  absl::Mutex mutex_;
  const std::unique_ptr<Db> reader_ ABSL_PT_GUARDED_BY(mutex_);
  SqliteWriter writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path) {
  ASSIGN_OR_RETURN(UniqueFd lock, LockForThisProcess(path + ".lock"));
  ASSIGN_OR_RETURN(std::unique_ptr<Db> writer, Db::Open(path));
  // What tenants submitted is nobody else's on this machine; SQLite's other files take the mode over.
  for (const char* file : {"", "-wal", "-shm"}) chmod((path + file).c_str(), 0600);
  RETURN_IF_ERROR(MigrateSchema(*writer));
  ASSIGN_OR_RETURN(std::unique_ptr<Db> reader, Db::Open(path));
  return std::make_unique<SqliteStore>(std::move(lock), std::move(writer), std::move(reader));
}

absl::StatusOr<std::vector<AuditRecord>> ReadAuditLog(const std::string& path, uint64_t after, int limit) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Db> db, Db::OpenToRead(path));
  return sqlite::AuditLog(*db, after, limit);
}

}  // namespace sassay::store
