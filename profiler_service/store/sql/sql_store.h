// A Store over SQL: each write an operation of the group writer, each read one on a connection of its own.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQL_SQL_STORE_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQL_SQL_STORE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "profiler_service/store/sql/db.h"
#include "profiler_service/store/sql/group_writer.h"
#include "profiler_service/store/store.h"

namespace sassay::store::sql {

// Tells other processes what this one has changed, and hears the same of them. Thread-safe.
class Announcer {
 public:
  virtual ~Announcer() = default;
  // Called after the change is durable; must not block.
  virtual void Announce(const Changes& changes) = 0;
  virtual std::unique_ptr<Watch> Observe(Observer observer) = 0;
};

// The connections that read. A read takes one and waits for one only if all are busy. Thread-safe.
class Readers {
 public:
  explicit Readers(std::vector<std::unique_ptr<Db>> idle) : idle_(std::move(idle)) {}

  // Runs `read`, a second time if the database failed and is there again.
  template <typename T>
  absl::StatusOr<T> Run(const std::function<absl::StatusOr<T>(Db&)>& read) ABSL_LOCKS_EXCLUDED(mutex_) {
    std::unique_ptr<Db> db = Take();
    absl::StatusOr<T> answer = read(*db);
    if (absl::IsUnavailable(answer.status()) && db->Recover().ok()) answer = read(*db);
    Give(std::move(db));
    return answer;
  }

 private:
  std::unique_ptr<Db> Take() ABSL_LOCKS_EXCLUDED(mutex_);
  void Give(std::unique_ptr<Db> db) ABSL_LOCKS_EXCLUDED(mutex_);
  bool OneIsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !idle_.empty(); }

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Db>> idle_ ABSL_GUARDED_BY(mutex_);
};

// Thread-safe; see Store.
class SqlStore : public Store {
 public:
  // At least one reader. No transaction carries more than `at_once` writes. Without an announcer nobody else uses the
  // database.
  SqlStore(std::unique_ptr<Db> writer, std::vector<std::unique_ptr<Db>> readers, size_t at_once,
           std::unique_ptr<Announcer> announcer);

  bool shared() const override { return announcer_ != nullptr; }
  std::unique_ptr<Watch> Observe(Observer observer) override;

  void Submit(NewSubmission submission, Callback<Submitted> done) override;
  void Acquire(const Asker& asker, absl::Time now, absl::Time expires_at,
               Callback<absl::optional<Lease>> done) override;
  void Append(const Lease& lease, sassay::v1::Event event, Callback<sassay::v1::Event> done) override;
  void Finish(const Lease& lease, sassay::v1::Verdict verdict, const Ending& ending,
              Callback<std::vector<sassay::v1::Event>> done) override;
  void Return(const Lease& lease, absl::string_view reason, Ended ended, const Ending& ending, absl::Time now,
              Callback<sassay::v1::Event> done) override;
  absl::StatusOr<std::vector<Renewal>> Renew(const std::vector<Lease>& leases, absl::Time expires_at) override;
  void Cancel(absl::string_view tenant, absl::string_view id, sassay::v1::Verdict verdict,
              Callback<Cancellation> done) override;
  void FinishQueued(absl::string_view id, sassay::v1::Verdict verdict, Callback<sassay::v1::Event> done) override;
  absl::StatusOr<int> Trim(absl::Time before, int limit) override;
  void Exclude(const BadWindow& window, uint32_t max_exclusions, absl::Time now, Callback<Exclusions> done) override;
  absl::Status CloseWindows(absl::string_view gpu, absl::Time now) override;
  void SettleTiming(absl::string_view id, uint32_t attempt, absl::string_view warning, absl::Time now,
                    Callback<sassay::v1::Event> done) override;
  absl::Status PlaceHold(const Hold& hold) override;
  absl::Status LiftHold(absl::string_view gpu, absl::string_view holder) override;
  absl::Status RecordIncident(const sassay::v1::Incident& incident) override;
  absl::Status PutNode(const NodeRecord& node) override;
  absl::Status DropNode(absl::string_view name, absl::string_view instance) override;
  absl::Status Audit(const AuditRecord& record) override;
  absl::Status SetWeight(absl::string_view tenant, uint32_t weight) override;

  absl::StatusOr<absl::optional<std::string>> FindEarlier(absl::string_view tenant,
                                                          const sassay::v1::ProfileRequest& request) override;
  absl::StatusOr<std::vector<Submission>> PastQueueDeadline(absl::Time now, int limit) override;
  absl::StatusOr<absl::Time> NextQueueDeadline() override;
  absl::StatusOr<std::vector<Lease>> LeasesExpiredBy(absl::Time now) override;
  absl::StatusOr<Submission> Leased(const Lease& lease) override;
  absl::StatusOr<std::vector<Lease>> LeasesOf(absl::string_view prefix) override;
  absl::StatusOr<Submission> Get(absl::string_view tenant, absl::string_view id) override;
  absl::StatusOr<std::vector<sassay::v1::Event>> Events(absl::string_view id, uint64_t after, int limit) override;
  absl::StatusOr<std::vector<ProgressOf>> Progress(const std::vector<std::string>& ids) override;
  absl::StatusOr<Depths> CountDepths() override;
  absl::StatusOr<std::vector<BadWindow>> OpenWindows() override;
  absl::StatusOr<std::vector<ExcludedEvent>> ExcludedSince(absl::string_view tenant, absl::Time from, uint64_t after,
                                                           int limit) override;
  absl::StatusOr<uint64_t> LastExcluded() override;
  absl::StatusOr<std::vector<Attempt>> AttemptsOn(absl::string_view gpu, absl::Time from, absl::Time to) override;
  absl::StatusOr<std::vector<Attempt>> AttemptsOf(absl::string_view id) override;
  absl::StatusOr<std::vector<Provisional>> Provisionals() override;
  absl::StatusOr<std::vector<Hold>> Holds() override;
  absl::StatusOr<std::vector<IncidentRecord>> IncidentsSince(absl::Time from, uint64_t after, int limit) override;
  absl::StatusOr<uint64_t> LastIncident() override;
  absl::StatusOr<std::vector<sassay::v1::TenantUsage>> Usage(absl::string_view tenant, absl::Time now) override;
  absl::StatusOr<std::vector<NodeRecord>> Nodes() override;
  absl::StatusOr<std::vector<AuditRecord>> AuditLog(uint64_t after, int limit) override;

 private:
  template <typename T>
  using Operation = std::function<absl::StatusOr<T>(Db&)>;

  // `done`, after the others were told what they should look at if it succeeded.
  template <typename T>
  Callback<T> Announced(Callback<T> done, std::function<void(const T&, Changes&)> changes);
  // Posts a write; `changes` says what others should look at if it succeeded.
  template <typename T>
  void Post(Operation<T> operation, Scope scope, Callback<T> done, std::function<void(const T&, Changes&)> changes);
  // Waits for a write.
  template <typename T>
  absl::StatusOr<T> Write(Operation<T> operation, Scope scope, const Changes& changes = {});
  absl::Status Record(Operation<bool> operation, const Changes& changes = {});
  template <typename T>
  absl::StatusOr<T> Read(const Operation<T>& read) {
    return readers_.Run<T>(read);
  }

  const std::unique_ptr<Announcer> announcer_;
  Readers readers_;
  GroupWriter writer_;
};

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_SQL_STORE_H_
