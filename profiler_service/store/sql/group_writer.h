// Group commit: many threads write, one transaction and one wait for the disk carry all that arrived while the last one
// ran.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQL_GROUP_WRITER_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQL_GROUP_WRITER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/store/sql/db.h"
#include "profiler_service/store/store.h"

namespace sassay::store::sql {

// Owns the one connection that writes, and its thread. Thread-safe.
//
// An operation reads first and writes only once it is sure: an error of its own (NOT_FOUND, ABORTED…) leaves nothing
// behind and does not disturb the others. If the database itself fails, the transaction is rolled back and, if there is
// a database to try it with, run again: whole, then each operation alone, so that one bad operation cannot fail its
// neighbours. A transaction whose commit nobody knows about is not run again; its answer is UNAVAILABLE, like that of
// one that changed nothing, and every write of the store can be asked for again.
class GroupWriter {
 public:
  // No transaction carries more than `at_once` operations: locks that others wait for are not held for long.
  explicit GroupWriter(std::unique_ptr<Db> db, size_t at_once);
  // Finishes what was posted.
  ~GroupWriter();

  // Runs `operation` inside a transaction and, once that is durable, `done` with its answer. `operation` may run more
  // than once. Only a transaction whose operations are all kProcess does not wait for the disk.
  template <typename T>
  void Post(std::function<absl::StatusOr<T>(Db&)> operation, Callback<T> done, Scope scope = {}) {
    auto answer = std::make_shared<absl::StatusOr<T>>(absl::UnknownError("not run"));
    Enqueue({[operation = std::move(operation), answer](Db& db) {
               *answer = operation(db);
               return answer->status();
             },
             [answer, done = std::move(done)](const absl::Status& committed) {
               if (!committed.ok()) *answer = committed;
               done(std::move(*answer));
             },
             std::move(scope)});
  }

 private:
  struct Operation {
    std::function<absl::Status(Db&)> run;
    std::function<void(const absl::Status&)> done;
    Scope scope;
    absl::Status status = absl::OkStatus();
  };

  void Enqueue(Operation operation) ABSL_LOCKS_EXCLUDED(mutex_);
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<Operation> TakeAll() ABSL_LOCKS_EXCLUDED(mutex_);
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !pending_.empty(); }
  size_t Together(const std::vector<Operation>& batch, size_t first) const;
  void Commit(Operation* first, size_t count);
  void CommitOneByOne(Operation* first, size_t count);
  absl::Status RunInTransaction(Operation* first, size_t count);
  absl::Status RunAll(Operation* first, size_t count);

  const std::unique_ptr<Db> db_;
  const size_t at_once_;
  absl::Mutex mutex_;
  std::vector<Operation> pending_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_GROUP_WRITER_H_
