// SQLite as the store needs it: owned handles, prepared statements that are compiled once, and one place where result
// codes become absl::Status.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQLITE_SQLITE_DB_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQLITE_SQLITE_DB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "profiler_service/store/sql/db.h"

struct sqlite3;

namespace sassay::store {

class SqliteStatement;

// One connection. Thread-compatible; lives on one thread at a time. Transactions exclude each other, so nothing of
// their scopes but the durability matters.
class SqliteDb final : public sql::Db {
 public:
  // Opens or creates `path` in WAL mode with synchronous=FULL: what is committed survives a power cut.
  // FAILED_PRECONDITION on a file system that cannot keep WAL's shared memory: reader and writer would block each
  // other.
  static absl::StatusOr<std::unique_ptr<SqliteDb>> Open(const std::string& path);
  // Opens a database that is there, also beside a process that writes it. UNAVAILABLE.
  static absl::StatusOr<std::unique_ptr<SqliteDb>> OpenToRead(const std::string& path);
  ~SqliteDb() override;
  SqliteDb(const SqliteDb&) = delete;
  SqliteDb& operator=(const SqliteDb&) = delete;

  absl::Status Execute(const char* sql) override;
  const sql::Dialect& dialect() const override;
  absl::Status Begin(const sql::Scope& scope) override;
  absl::Status Commit() override { return Execute("COMMIT"); }
  void Rollback() override { Execute("ROLLBACK").IgnoreError(); }
  absl::Status Recover() override { return absl::OkStatus(); }
  absl::StatusOr<bool> LockSubmissions(std::vector<std::string> ids) override { return false; }
  absl::Status LockExclusions() override { return absl::OkStatus(); }

 private:
  explicit SqliteDb(sqlite3* db);
  static absl::StatusOr<std::unique_ptr<SqliteDb>> OpenAs(int flags, const std::string& path);
  absl::Status TurnToWal(const std::string& path);
  sql::Statement& Find(const char* sql) override;

  sqlite3* db_;
  sql::Durability durability_ = sql::Durability::kDisk;
  std::unordered_map<const char*, std::unique_ptr<SqliteStatement>> statements_;
};

// Brings a database to this build's schema, one version at a time and each in a transaction. FAILED_PRECONDITION if it
// was written by a newer build. Tests stop at an earlier version, `to`.
absl::Status MigrateSchema(SqliteDb& db, absl::optional<int64_t> to = absl::nullopt);

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQLITE_SQLITE_DB_H_
