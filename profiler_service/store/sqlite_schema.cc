#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sqlite_db.h"

namespace sassay::store {
namespace {

// Times are nanoseconds since 1970, durations nanoseconds. A released version is never edited: add the next one.
constexpr const char* kMigrations[] = {
    // Version 1.
    R"sql(
CREATE TABLE tenants (
  name TEXT PRIMARY KEY,
  last_turn INTEGER NOT NULL DEFAULT 0,
  queued INTEGER NOT NULL DEFAULT 0,
  leased INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE submissions (
  place INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  tenant TEXT NOT NULL REFERENCES tenants(name),
  request_id TEXT NOT NULL,
  request BLOB NOT NULL,
  state INTEGER NOT NULL DEFAULT 0,
  accepted_at INTEGER NOT NULL,
  queue_deadline INTEGER NOT NULL,
  run_deadline INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  losses INTEGER NOT NULL DEFAULT 0,
  cancelling INTEGER NOT NULL DEFAULT 0,
  last_sequence INTEGER NOT NULL DEFAULT 0,
  owner TEXT NOT NULL DEFAULT '',
  epoch INTEGER NOT NULL DEFAULT 0,
  expires_at INTEGER NOT NULL DEFAULT 0,
  UNIQUE (tenant, request_id)
);
CREATE INDEX submissions_queued ON submissions (tenant, place) WHERE state = 0;
CREATE INDEX submissions_deadline ON submissions (queue_deadline) WHERE state = 0;
CREATE INDEX submissions_leased ON submissions (expires_at) WHERE state = 1;

CREATE TRIGGER submissions_inserted AFTER INSERT ON submissions BEGIN
  UPDATE tenants SET queued = queued + 1 WHERE name = NEW.tenant;
END;
CREATE TRIGGER submissions_moved AFTER UPDATE OF state ON submissions WHEN OLD.state <> NEW.state BEGIN
  UPDATE tenants SET queued = queued + (NEW.state = 0) - (OLD.state = 0),
                     leased = leased + (NEW.state = 1) - (OLD.state = 1) WHERE name = NEW.tenant;
END;
CREATE TRIGGER submissions_finished_is_final BEFORE UPDATE OF state ON submissions WHEN OLD.state = 2 BEGIN
  SELECT RAISE(ABORT, 'a finished submission stays finished');
END;

CREATE TABLE events (
  id TEXT NOT NULL REFERENCES submissions(id),
  sequence INTEGER NOT NULL,
  event BLOB NOT NULL,
  PRIMARY KEY (id, sequence)
) WITHOUT ROWID;

CREATE TABLE verdicts (
  id TEXT PRIMARY KEY REFERENCES submissions(id),
  sequence INTEGER NOT NULL,
  status INTEGER NOT NULL,
  decided_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE audit (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  outcome TEXT NOT NULL,
  detail TEXT NOT NULL
);
CREATE TRIGGER audit_keeps BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;
)sql",
    // Version 2: attempts that failed are counted apart from attempts that were begun.
    R"sql(
ALTER TABLE submissions ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
)sql",
    // Version 3: a pause that survives a restart; old verdicts are found and forgotten.
    R"sql(
CREATE TABLE pause (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  reason TEXT NOT NULL
);
CREATE INDEX verdicts_decided ON verdicts (decided_at);
)sql",
};
constexpr int64_t kVersion = std::size(kMigrations);

absl::StatusOr<int64_t> UserVersion(Db& db) {
  Query query = db.Prepare("PRAGMA user_version");
  RETURN_IF_ERROR(query.Step().status());
  return query.Int(0);
}

absl::Status Migrate(Db& db, int64_t from) {
  RETURN_IF_ERROR(db.Execute("BEGIN IMMEDIATE"));
  absl::Status status = db.Execute(kMigrations[from]);
  if (status.ok()) status = db.Execute(absl::StrCat("PRAGMA user_version=", from + 1).c_str());
  if (status.ok()) return db.Execute("COMMIT");
  db.Execute("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace

absl::Status MigrateSchema(Db& db) {
  ASSIGN_OR_RETURN(const int64_t found, UserVersion(db));
  if (found > kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the database has schema version ", found, ", this build knows ", kVersion,
                     ": start the newer profiler-service that wrote it, or choose another --state"));
  }
  for (int64_t version = found; version < kVersion; ++version) RETURN_IF_ERROR(Migrate(db, version));
  return absl::OkStatus();
}

}  // namespace sassay::store
