#include "profiler_service/store/sqlite/sqlite_db.h"

#include <sqlite3.h>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::store {
namespace {

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

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Query& Query::Bind(absl::string_view text) {
  sqlite3_bind_text(statement_, next_++, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Query& Query::Bind(int64_t value) {
  sqlite3_bind_int64(statement_, next_++, value);
  return *this;
}

Query& Query::Bind(absl::Time time) { return Bind(absl::ToUnixNanos(time)); }

Query& Query::BindBlob(absl::string_view bytes) {
  sqlite3_bind_blob64(statement_, next_++, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

absl::StatusOr<bool> Query::Step() {
  if (statement_ == nullptr) return Failure(db_, "prepare");
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return Failure(db_, sqlite3_sql(statement_));
}

absl::Status Query::Run() {
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, Step());
    if (!row) return absl::OkStatus();
  }
}

int64_t Query::Int(int column) const { return sqlite3_column_int64(statement_, column); }

std::string Query::Text(int column) const { return Blob(column); }

std::string Query::Blob(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return size == 0 ? std::string() : std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
}

absl::Time Query::Time(int column) const { return absl::FromUnixNanos(Int(column)); }

absl::StatusOr<std::unique_ptr<Db>> Db::OpenAs(int flags, const std::string& path) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<Db> db(new Db(raw));
  if (code != SQLITE_OK) return Failure(raw, absl::StrCat("cannot open ", path));
  sqlite3_busy_timeout(raw, 5000);
  return db;
}

absl::StatusOr<std::unique_ptr<Db>> Db::Open(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<Db> db, OpenAs(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path));
  RETURN_IF_ERROR(db->TurnToWal(path));
  RETURN_IF_ERROR(db->Execute("PRAGMA synchronous=FULL"));
  RETURN_IF_ERROR(db->Execute("PRAGMA foreign_keys=ON"));
  RETURN_IF_ERROR(db->Execute("PRAGMA cache_size=-4096"));
  return db;
}

absl::StatusOr<std::unique_ptr<Db>> Db::OpenToRead(const std::string& path) {
  return OpenAs(SQLITE_OPEN_READONLY, path);
}

absl::Status Db::TurnToWal(const std::string& path) {
  Query query = Prepare("PRAGMA journal_mode=WAL");
  RETURN_IF_ERROR(query.Step().status());
  if (query.Text(0) == "wal") return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path, ": the journal stays '", query.Text(0),
                                                    "', this file system cannot do WAL (NFS?); choose a --state or ",
                                                    "--store on a local disk"));
}

Db::~Db() {
  for (auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(db_);
}

Query Db::Prepare(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr) sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  return Query(db_, statement);
}

absl::Status Db::Execute(const char* sql) {
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return Failure(db_, sql);
  return absl::OkStatus();
}

int Db::changes() const { return sqlite3_changes(db_); }

}  // namespace sassay::store
