// SQLite as the store needs it: owned handles, prepared statements that are compiled once, and one place where result
// codes become absl::Status.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQLITE_DB_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQLITE_DB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sassay::store {

// One execution of a prepared statement. Binds by position from 1, reads columns from 0. Thread-compatible.
// Life cycle: got from Db::Prepare, bound, stepped; going out of scope resets it for the next user. Binding errors are
// our own bugs and come out of Step.
class Query {
 public:
  Query(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  Query(Query&& other) noexcept : db_(other.db_), statement_(other.statement_) { other.statement_ = nullptr; }
  ~Query();

  Query& Bind(absl::string_view text);
  Query& Bind(int64_t value);
  Query& Bind(absl::Time time);
  Query& BindBlob(absl::string_view bytes);

  // True: a row is there to be read. UNAVAILABLE if the database fails.
  absl::StatusOr<bool> Step();
  // Steps to the end.
  absl::Status Run();

  int64_t Int(int column) const;
  std::string Text(int column) const;
  std::string Blob(int column) const;
  absl::Time Time(int column) const;

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_;
  int next_ = 1;
};

// One connection. Thread-compatible; lives on one thread at a time.
class Db {
 public:
  // Opens or creates `path` in WAL mode with synchronous=FULL: what is committed survives a power cut.
  // FAILED_PRECONDITION on a file system that cannot keep WAL's shared memory: reader and writer would block each
  // other.
  static absl::StatusOr<std::unique_ptr<Db>> Open(const std::string& path);
  // Opens a database that is there, also beside a process that writes it. UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<Db>> OpenToRead(const std::string& path);
  ~Db();
  Db(const Db&) = delete;
  Db& operator=(const Db&) = delete;

  // `sql` must be a literal: its address is the key of the cache.
  Query Prepare(const char* sql);
  // Statements without results, for schema and transactions.
  absl::Status Execute(const char* sql);
  // Rows touched by the last statement.
  int changes() const;

 private:
  explicit Db(sqlite3* db) : db_(db) {}
  static absl::StatusOr<std::unique_ptr<Db>> OpenAs(int flags, const std::string& path);
  absl::Status TurnToWal(const std::string& path);
  sqlite3* db_;
  std::unordered_map<const char*, sqlite3_stmt*> statements_;
};

// Brings a database to this build's schema, one version at a time and each in a transaction. FAILED_PRECONDITION if it
// was written by a newer build. Tests stop at an earlier version, `to`.
absl::Status MigrateSchema(Db& db, absl::optional<int64_t> to = absl::nullopt);

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQLITE_DB_H_
