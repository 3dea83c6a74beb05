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

// Many requests of one kind, done by fewer steps than one after the other: one answer for each, in order. The requests
// take effect in their order. Not OK: the database failed.
template <typename Request, typename T>
using Together = absl::Status (*)(Db&, const std::vector<const Request*>&, std::vector<absl::StatusOr<T>>&);

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
    Enqueue(std::make_unique<Single<T>>(std::move(operation), std::move(done), std::move(scope)));
  }

  // The same for a request of a kind: those of one kind that follow each other in a transaction are done together.
  template <typename Request, typename T>
  void Post(Together<Request, T> kind, Request request, Callback<T> done, Scope scope) {
    Enqueue(std::make_unique<Joint<Request, T>>(kind, std::move(request), std::move(done), std::move(scope)));
  }

 private:
  class Operation {
   public:
    explicit Operation(Scope scope) : scope(std::move(scope)) {}
    virtual ~Operation() = default;
    // Runs this one and those after it that it can take along, until `end`; how many. Their `status` says what came of
    // each. Not OK: the database failed.
    virtual absl::StatusOr<size_t> Run(Db& db, std::unique_ptr<Operation>* first, std::unique_ptr<Operation>* end) = 0;
    virtual void Answer() = 0;

    const Scope scope;
    absl::Status status = absl::OkStatus();
  };

  // Whoever waits for an answer.
  template <typename T>
  class Answering : public Operation {
   public:
    Answering(Callback<T> done, Scope scope) : Operation(std::move(scope)), done_(std::move(done)) {}
    void Answer() override {
      if (!this->status.ok()) answer_ = this->status;
      done_(std::move(answer_));
    }
    void Take(absl::StatusOr<T> answer) {
      answer_ = std::move(answer);
      this->status = answer_.status();
    }

   private:
    const Callback<T> done_;
    absl::StatusOr<T> answer_ = absl::UnknownError("not run");
  };

  template <typename T>
  class Single : public Answering<T> {
   public:
    Single(std::function<absl::StatusOr<T>(Db&)> operation, Callback<T> done, Scope scope)
        : Answering<T>(std::move(done), std::move(scope)), operation_(std::move(operation)) {}
    absl::StatusOr<size_t> Run(Db& db, std::unique_ptr<Operation>*, std::unique_ptr<Operation>*) override {
      this->Take(operation_(db));
      if (IsDatabaseFailure(this->status)) return this->status;
      return 1;
    }

   private:
    const std::function<absl::StatusOr<T>(Db&)> operation_;
  };

  template <typename Request, typename T>
  class Joint : public Answering<T> {
   public:
    Joint(Together<Request, T> kind, Request request, Callback<T> done, Scope scope)
        : Answering<T>(std::move(done), std::move(scope)), kind_(kind), request_(std::move(request)) {}
    absl::StatusOr<size_t> Run(Db& db, std::unique_ptr<Operation>* first, std::unique_ptr<Operation>* end) override {
      std::vector<Joint*> joined;
      std::vector<const Request*> requests;
      for (; first != end; ++first) {
        auto* const next = dynamic_cast<Joint*>(first->get());
        if (next == nullptr || next->kind_ != kind_) break;
        joined.push_back(next);
        requests.push_back(&next->request_);
      }
      std::vector<absl::StatusOr<T>> answers;
      const absl::Status failed = kind_(db, requests, answers);
      if (!failed.ok()) return failed;
      for (size_t i = 0; i < joined.size(); ++i) joined[i]->Take(std::move(answers[i]));
      return joined.size();
    }

   private:
    const Together<Request, T> kind_;
    const Request request_;
  };

  using Operations = std::vector<std::unique_ptr<Operation>>;

  void Enqueue(std::unique_ptr<Operation> operation) ABSL_LOCKS_EXCLUDED(mutex_);
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  Operations TakeAll() ABSL_LOCKS_EXCLUDED(mutex_);
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !pending_.empty(); }
  size_t HowMany(const Operations& batch, size_t first) const;
  void Commit(std::unique_ptr<Operation>* first, size_t count);
  void CommitOneByOne(std::unique_ptr<Operation>* first, size_t count);
  absl::Status RunInTransaction(std::unique_ptr<Operation>* first, size_t count);
  absl::Status RunAll(std::unique_ptr<Operation>* first, size_t count);

  const std::unique_ptr<Db> db_;
  const size_t at_once_;
  absl::Mutex mutex_;
  Operations pending_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_GROUP_WRITER_H_
