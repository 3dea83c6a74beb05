// A SQL database as the store's operations need it: one SQL text for both databases, and in one place what differs.
//
// The operations (operations.h, attempts.h) are the same for SQLite and PostgreSQL. On SQLite one transaction runs at a
// time; on PostgreSQL those of several processes run together, so a transaction says beforehand what it touches that
// others may touch (Scope), and the database sees to it that this stands still until the commit.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQL_DB_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQL_DB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sassay::store::sql {

// A prepared statement that is compiled once; used by one Query at a time. Thread-compatible.
class Statement {
 public:
  virtual ~Statement() = default;
  // Positions count from 1, columns from 0. Errors of binding come out of Step.
  virtual void BindText(int position, absl::string_view text) = 0;
  virtual void BindInt(int position, int64_t value) = 0;
  virtual void BindBlob(int position, absl::string_view bytes) = 0;
  virtual void Ask() {}
  virtual absl::StatusOr<bool> Step() = 0;
  virtual absl::Status Run();
  // Truth values are 1 and 0.
  virtual int64_t Int(int column) const = 0;
  virtual std::string Bytes(int column) const = 0;
  virtual void Reset() = 0;
};

// One execution of a statement. Binds by position from 1, reads columns from 0. Thread-compatible.
// Life cycle: got from Db::Prepare, bound, stepped; going out of scope resets it for the next user.
class Query {
 public:
  explicit Query(Statement& statement) : statement_(&statement) {}
  Query(Query&& other) noexcept : statement_(other.statement_), next_(other.next_) { other.statement_ = nullptr; }
  ~Query() {
    if (statement_ != nullptr) statement_->Reset();
  }

  Query& Bind(absl::string_view text) {
    statement_->BindText(next_++, text);
    return *this;
  }
  Query& Bind(int64_t value) {
    statement_->BindInt(next_++, value);
    return *this;
  }
  Query& Bind(absl::Time time) { return Bind(absl::ToUnixNanos(time)); }
  Query& BindBlob(absl::string_view bytes) {
    statement_->BindBlob(next_++, bytes);
    return *this;
  }

  // Sends it ahead: Step finds the answer on its way. Inside a transaction, where the way is long.
  Query& Ask() {
    statement_->Ask();
    return *this;
  }
  // True: a row is there to be read. UNAVAILABLE if the database fails; INTERNAL if it refuses what we want of it.
  absl::StatusOr<bool> Step() { return statement_->Step(); }
  // Runs it for what it does. Inside a transaction nobody waits for that: if the database refuses it, a later Step or
  // the commit says so, and nothing of the transaction is left.
  absl::Status Run() { return statement_->Run(); }

  int64_t Int(int column) const { return statement_->Int(column); }
  std::string Text(int column) const { return statement_->Bytes(column); }
  std::string Blob(int column) const { return statement_->Bytes(column); }
  absl::Time Time(int column) const { return absl::FromUnixNanos(Int(column)); }

 private:
  Statement* statement_;
  int next_ = 1;
};

// Statements of which each database has its own: on PostgreSQL every process counts in rows of its own, because one row
// that all of them change would let one transaction run at a time.
struct Dialect {
  const char* insert_tenant;   // (name); null: a tenant needs no row
  const char* count_verdict;   // (gpu_ns, tenant)
  const char* count_lost;      // (gpu_ns, tenant)
  const char* count_excluded;  // (gpu_ns, tenant)
  const char* claim;           // (id): the columns of SASSAY_SELECT_SUBMISSION, if it waits and nobody changes it now
  const char* progress;        // (JSON array of ids): id, last_sequence, ended
};

// Whether an answer waits for the disk. kProcess survives a SIGKILL of ours, but a power cut, or a crash of the
// database server, only if something durable followed.
enum class Durability { kDisk, kProcess };

// How a transaction has to do with bad windows: whoever ends attempts must not miss a window that is being written, and
// whoever writes one must not miss an attempt that is ending.
enum class Windows { kNone, kRead, kWrite };

// What a transaction touches that another process may touch at the same time. The database takes its locks in this
// order (submissions sorted by id), and whatever comes later is taken without waiting or is the last of all
// (Db::LockExclusions), so no two transactions wait for each other.
struct Scope {
  Durability durability = Durability::kDisk;
  bool admits = false;      // counts what waits and adds to it
  bool dispatches = false;  // reads and changes shares: one at a time
  Windows windows = Windows::kNone;
  std::vector<std::string> submissions;  // rows that are read in order to be changed
  bool records = false;                  // audit, incidents and holds
  bool alone = false;                    // finds only while it runs which submissions it changes: no others with it
};

// The database failed, as opposed to an operation that looked and declined.
bool IsDatabaseFailure(const absl::Status& status);

// Both together.
void Merge(const Scope& scope, Scope& into);

// One connection. Thread-compatible; lives on one thread at a time.
class Db {
 public:
  virtual ~Db() = default;

  // `sql` must be a literal: its address is the key of the cache. Parameters are ? or ?N.
  Query Prepare(const char* sql) { return Query(Find(sql)); }
  // How many queries of one text may be asked ahead; 1 if asking ahead gains nothing.
  virtual size_t ahead() const { return 1; }
  // Statements without results.
  virtual absl::Status Execute(const char* sql) = 0;
  virtual const Dialect& dialect() const = 0;

  virtual absl::Status Begin(const Scope& scope) = 0;
  // UNKNOWN: the connection was lost meanwhile and nobody can be asked what became of it. Any other error: nothing was
  // changed.
  virtual absl::Status Commit() = 0;
  virtual void Rollback() = 0;
  // After a failure: OK if there is a database again that one could try it with. Waits for it a little.
  virtual absl::Status Recover() = 0;

  // Inside an `alone` transaction: these are changed by nobody else until it ends. True: somebody may have changed them
  // before, so look again.
  virtual absl::StatusOr<bool> LockSubmissions(std::vector<std::string> ids) = 0;
  // Exclusions are numbered in the order in which readers come to see them.
  virtual absl::Status LockExclusions() = 0;

 private:
  virtual Statement& Find(const char* sql) = 0;
};

// Runs one query `count` times, each bound by `bind`, and has `read` step through the answers in order: on a database
// that is far away in one round trip. Errors are those of `read`.
absl::Status ForEach(Db& db, const char* sql, size_t count, absl::FunctionRef<void(size_t, Query&)> bind,
                     absl::FunctionRef<absl::Status(size_t, Query&)> read);

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_DB_H_
