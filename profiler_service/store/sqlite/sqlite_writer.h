// Group commit: many threads write, one transaction and one fsync carry all that arrived while the last one ran.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQLITE_WRITER_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQLITE_WRITER_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "profiler_service/store/sqlite/sqlite_db.h"
#include "profiler_service/store/store.h"

namespace sassay::store {

// Whether an answer waits for the disk. kProcess survives a SIGKILL, but not a power cut unless something durable
// follows.
enum class Durability { kDisk, kProcess };

// Owns the one connection that writes, and its thread. Thread-safe.
//
// An operation reads first and writes only once it is sure: an error of its own (NOT_FOUND, ABORTED…) leaves nothing
// behind and does not disturb the others. If the database itself fails, the transaction is rolled back and each
// operation is tried once more alone, so that one bad operation cannot fail its neighbours.
class SqliteWriter {
 public:
  explicit SqliteWriter(std::unique_ptr<Db> db);
  // Finishes what was posted.
  ~SqliteWriter();

  // Runs `operation` inside a transaction and, once that is durable, `done` with its answer. `operation` may run twice.
  // Only a transaction whose operations are all kProcess goes without fsync.
  template <typename T>
  void Post(std::function<absl::StatusOr<T>(Db&)> operation, Callback<T> done,
            Durability durability = Durability::kDisk) {
    auto answer = std::make_shared<absl::StatusOr<T>>(absl::UnknownError("not run"));
    Enqueue({[operation = std::move(operation), answer](Db& db) {
               *answer = operation(db);
               return answer->status();
             },
             [answer, done = std::move(done)](const absl::Status& committed) {
               if (!committed.ok()) *answer = committed;
               done(std::move(*answer));
             },
             durability});
  }

 private:
  struct Operation {
    std::function<absl::Status(Db&)> run;
    std::function<void(const absl::Status&)> done;
    Durability durability = Durability::kDisk;
    absl::Status status = absl::OkStatus();
  };

  void Enqueue(Operation operation) ABSL_LOCKS_EXCLUDED(mutex_);
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<Operation> TakeAll() ABSL_LOCKS_EXCLUDED(mutex_);
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !pending_.empty(); }
  void Commit(std::vector<Operation>& batch);
  absl::Status RunInTransaction(Operation* first, size_t count);
  absl::Status Demand(Durability durability);

  const std::unique_ptr<Db> db_;
  Durability demanded_ = Durability::kDisk;
  absl::Mutex mutex_;
  std::vector<Operation> pending_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQLITE_WRITER_H_
