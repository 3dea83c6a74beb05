#include "profiler_service/store/sqlite/sqlite_db.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sql/rows.h"

namespace sassay::store {
namespace {

constexpr sql::Dialect kDialect = {
    "INSERT OR IGNORE INTO tenants (name) VALUES (?)",
    "UPDATE tenants SET verdicts = verdicts + 1, gpu_ns = gpu_ns + ? WHERE name = ?",
    "UPDATE tenants SET lost_attempts = lost_attempts + 1, lost_gpu_ns = lost_gpu_ns + ? WHERE name = ?",
    "UPDATE tenants SET verdicts = verdicts - 1, gpu_ns = gpu_ns - ?1, excluded_verdicts = excluded_verdicts + 1, "
    "excluded_gpu_ns = excluded_gpu_ns + ?1 WHERE name = ?2",
    SASSAY_SELECT_SUBMISSION "WHERE id = ? AND " SASSAY_IN_STATE "0",
    SASSAY_SELECT_PROGRESS "WHERE id IN (SELECT value FROM json_each(?))",
};

absl::Status Failure(sqlite3* db, absl::string_view what) {
  const int code = sqlite3_extended_errcode(db);
  std::string message = absl::StrCat(what, ": ", sqlite3_errmsg(db), " (SQLite code ", code, ")");
  if ((code & 0xff) == SQLITE_FULL) {
    return absl::UnavailableError(absl::StrCat(message, "; the disk with --state is full: free some space and retry"));
  }
  if ((code & 0xff) == SQLITE_CONSTRAINT) return absl::InternalError(message);
  return absl::UnavailableError(message);
}

}  // namespace

class SqliteStatement final : public sql::Statement {
 public:
  SqliteStatement(sqlite3* db, const char* sql) : db_(db) {
    sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
  }
  ~SqliteStatement() override { sqlite3_finalize(statement_); }

  void BindText(int position, absl::string_view text) override {
    sqlite3_bind_text(statement_, position, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  void BindInt(int position, int64_t value) override { sqlite3_bind_int64(statement_, position, value); }
  void BindBlob(int position, absl::string_view bytes) override {
    sqlite3_bind_blob64(statement_, position, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  }

  absl::StatusOr<bool> Step() override {
    if (statement_ == nullptr) return Failure(db_, "prepare");
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return Failure(db_, sqlite3_sql(statement_));
  }

  int64_t Int(int column) const override { return sqlite3_column_int64(statement_, column); }
  std::string Bytes(int column) const override {
    const void* bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return size == 0 ? std::string() : std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
  }

  void Reset() override {
    if (statement_ == nullptr) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

 private:
  sqlite3* const db_;
  sqlite3_stmt* statement_ = nullptr;
};

absl::StatusOr<std::unique_ptr<SqliteDb>> SqliteDb::OpenAs(int flags, const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<SqliteDb> db(new SqliteDb(raw));
  if (code != SQLITE_OK) return Failure(raw, absl::StrCat("cannot open ", path));
  sqlite3_busy_timeout(raw, 5000);
  return db;
}

absl::StatusOr<std::unique_ptr<SqliteDb>> SqliteDb::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<SqliteDb> db, OpenAs(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path));
  RETURN_IF_ERROR(db->TurnToWal(path));
  RETURN_IF_ERROR(db->Execute("PRAGMA synchronous=FULL"));
  RETURN_IF_ERROR(db->Execute("PRAGMA foreign_keys=ON"));
  RETURN_IF_ERROR(db->Execute("PRAGMA cache_size=-4096"));
  return db;
}

absl::StatusOr<std::unique_ptr<SqliteDb>> SqliteDb::OpenToRead(const std::string& path) {
  return OpenAs(SQLITE_OPEN_READONLY, path);
}

absl::Status SqliteDb::TurnToWal(const std::string& path) {
  sql::Query query = Prepare("PRAGMA journal_mode=WAL");
  RETURN_IF_ERROR(query.Step().status());
  if (query.Text(0) == "wal") return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, ": the journal stays '", query.Text(0),
                                                    "', this file system cannot do WAL (NFS?); choose a --state or ",
                                                    "--store on a local disk"));
}

SqliteDb::SqliteDb(sqlite3* db) : db_(db) {}

SqliteDb::~SqliteDb() {
  statements_.clear();
  sqlite3_close(db_);
}

sql::Statement& SqliteDb::Find(const char* sql) {
  std::unique_ptr<SqliteStatement>& statement = statements_[sql];
  if (statement == nullptr) statement = std::make_unique<SqliteStatement>(db_, sql);
  return *statement;
}

absl::Status SqliteDb::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return Failure(db_, sql);
  return absl::OkStatus();
}

const sql::Dialect& SqliteDb::dialect() const { return kDialect; }

absl::Status SqliteDb::Begin(const sql::Scope& scope) {
  if (scope.durability != durability_) {
    const bool disk = scope.durability == sql::Durability::kDisk;
    RETURN_IF_ERROR(Execute(disk ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
    durability_ = scope.durability;
  }
  return Execute("BEGIN IMMEDIATE");
}

}  // namespace sassay::store
