#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/sql/attempts.h"
#include "profiler_service/store/sqlite/sqlite_db.h"
#include "sassay/v1/events.pb.h"

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
    // Version 4: attempts, what does not count, who holds which GPU, incidents, usage. A submission that was excluded
    // is
    // the one kind of finished one that may be run again; its row in `verdicts` comes back with its next verdict.
    R"sql(
ALTER TABLE submissions ADD COLUMN exclusions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN verdicts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN gpu_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN excluded_verdicts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN excluded_gpu_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN lost_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tenants ADD COLUMN lost_gpu_ns INTEGER NOT NULL DEFAULT 0;

CREATE TABLE attempts (
  id TEXT NOT NULL REFERENCES submissions(id),
  attempt INTEGER NOT NULL,
  gpu TEXT NOT NULL,
  seated_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  gpu_ns INTEGER NOT NULL,
  status INTEGER NOT NULL,
  PRIMARY KEY (id, attempt)
) WITHOUT ROWID;
CREATE INDEX attempts_gpu ON attempts (gpu, ended_at);
CREATE TRIGGER attempts_keep BEFORE UPDATE ON attempts BEGIN SELECT RAISE(ABORT, 'attempts never change'); END;

CREATE TABLE exclusions (
  place INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL REFERENCES submissions(id),
  attempt INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  at INTEGER NOT NULL,
  incident TEXT NOT NULL,
  reason TEXT NOT NULL,
  rerun INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  UNIQUE (id, attempt)
);
CREATE INDEX exclusions_tenant ON exclusions (tenant, place);
CREATE TRIGGER exclusions_keep BEFORE UPDATE ON exclusions BEGIN SELECT RAISE(ABORT, 'exclusions never change'); END;

CREATE TABLE windows (
  gpu TEXT NOT NULL,
  incident TEXT NOT NULL,
  since INTEGER NOT NULL,
  until INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (gpu, incident, since)
) WITHOUT ROWID;
CREATE INDEX windows_until ON windows (gpu, until);

CREATE TABLE provisional (
  id TEXT PRIMARY KEY REFERENCES submissions(id),
  attempt INTEGER NOT NULL,
  gpu TEXT NOT NULL,
  ended_at INTEGER NOT NULL
) WITHOUT ROWID;

DROP TRIGGER submissions_finished_is_final;
CREATE TRIGGER submissions_finished_is_final BEFORE UPDATE OF state ON submissions
WHEN OLD.state = 2 AND NOT (NEW.state = 0 AND EXISTS (
  SELECT 1 FROM exclusions WHERE id = OLD.id AND attempt = OLD.attempt AND rerun = 1)) BEGIN
  SELECT RAISE(ABORT, 'a finished submission stays finished');
END;

CREATE TABLE holds (
  gpu TEXT NOT NULL,
  holder TEXT NOT NULL,
  state INTEGER NOT NULL,
  reason TEXT NOT NULL,
  incident TEXT NOT NULL,
  since INTEGER NOT NULL,
  actor TEXT NOT NULL,
  PRIMARY KEY (gpu, holder)
) WITHOUT ROWID;
INSERT INTO holds SELECT '', 'operator', 5, reason, '', at, actor FROM pause;
DROP TABLE pause;

CREATE TABLE incidents (
  place INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  revision INTEGER NOT NULL,
  until INTEGER NOT NULL,
  incident BLOB NOT NULL,
  UNIQUE (id, revision)
);
CREATE TRIGGER incidents_keep BEFORE UPDATE ON incidents BEGIN SELECT RAISE(ABORT, 'incidents are append-only'); END;
CREATE TRIGGER incidents_stay BEFORE DELETE ON incidents BEGIN SELECT RAISE(ABORT, 'incidents are append-only'); END;
)sql",
    // Version 5: nodes.
    R"sql(
CREATE TABLE nodes (
  name TEXT PRIMARY KEY,
  instance TEXT NOT NULL,
  facts BLOB NOT NULL,
  seen INTEGER NOT NULL,
  draining INTEGER NOT NULL
) WITHOUT ROWID;
)sql",
    // Version 6: who is next by GPU time (scheduling/policy.h). Times of shares are microseconds. What an attempt that
    // has ended costs its tenant lies in `settlements` until the next dispatch, which alone changes shares.
    R"sql(
ALTER TABLE submissions ADD COLUMN arch TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE submissions ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN workload TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE submissions ADD COLUMN lost_on TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN node TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN charged INTEGER NOT NULL DEFAULT 0;
DROP INDEX submissions_queued;
CREATE INDEX submissions_lines ON submissions (arch, tenant, priority, lost, model, place) WHERE state = 0;
CREATE INDEX submissions_states ON submissions (arch, tenant, priority, workload, place) WHERE state = 0 AND lost = 0;
CREATE INDEX submissions_suspects ON submissions (node) WHERE state = 1 AND lost = 1;

CREATE TABLE pools (
  arch TEXT PRIMARY KEY,
  virtual_time INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE shares (
  arch TEXT NOT NULL,
  tenant TEXT NOT NULL,
  pass INTEGER NOT NULL,
  batch_credit INTEGER NOT NULL,
  running_interactive INTEGER NOT NULL,
  running_batch INTEGER NOT NULL,
  charged_interactive INTEGER NOT NULL,
  charged_batch INTEGER NOT NULL,
  recent_interactive INTEGER NOT NULL,
  recent_batch INTEGER NOT NULL,
  attempts_interactive INTEGER NOT NULL,
  attempts_batch INTEGER NOT NULL,
  as_of_interactive INTEGER NOT NULL,
  as_of_batch INTEGER NOT NULL,
  PRIMARY KEY (arch, tenant)
) WITHOUT ROWID;

CREATE TABLE settlements (
  place INTEGER PRIMARY KEY AUTOINCREMENT,
  arch TEXT NOT NULL,
  tenant TEXT NOT NULL,
  priority INTEGER NOT NULL,
  charged INTEGER NOT NULL,
  gpu_ns INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  at INTEGER NOT NULL
);

CREATE TABLE weights (
  tenant TEXT PRIMARY KEY,
  weight INTEGER NOT NULL
) WITHOUT ROWID;
)sql",
    // Version 7: verdicts that stand for others (profiler_service/reuse). A submission that was run has a key and may
    // be
    // copied; a copy has no key, and names what it was copied of.
    R"sql(
ALTER TABLE submissions ADD COLUMN reuse_key TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN reused_from TEXT NOT NULL DEFAULT '';
CREATE INDEX submissions_reuse ON submissions (tenant, reuse_key, place) WHERE reuse_key <> '' AND state = 2;
CREATE INDEX submissions_copies ON submissions (reused_from) WHERE reused_from <> '';
)sql",
};
constexpr int64_t kVersion = std::size(kMigrations);
constexpr int64_t kCountsUsage = 4;

absl::StatusOr<int64_t> UserVersion(SqliteDb& db) {
  sql::Query query = db.Prepare("PRAGMA user_version");
  RETURN_IF_ERROR(query.Step().status());
  return query.Int(0);
}

// What version 3 kept of verdicts is what tenants have used, as far as anybody still knows.
absl::Status CountUsage(SqliteDb& db) {
  sql::Query verdicts = db.Prepare(
      "SELECT s.tenant, e.event FROM verdicts v JOIN submissions s ON s.id = v.id JOIN events e ON e.id = v.id AND "
      "e.sequence = v.sequence");
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, verdicts.Step());
    if (!row) return absl::OkStatus();
    sassay::v1::Event event;
    if (!event.ParseFromString(verdicts.Blob(1))) continue;
    RETURN_IF_ERROR(db.Prepare("UPDATE tenants SET verdicts = verdicts + 1, gpu_ns = gpu_ns + ? WHERE name = ?")
                        .Bind(static_cast<int64_t>(sql::GpuTimeOf(event.verdict())))
                        .Bind(verdicts.Text(0))
                        .Run());
  }
}

absl::Status Migrate(SqliteDb& db, int64_t from) {
  RETURN_IF_ERROR(db.Execute("BEGIN IMMEDIATE"));
  absl::Status status = db.Execute(kMigrations[from]);
  if (status.ok() && from + 1 == kCountsUsage) status = CountUsage(db);
  if (status.ok()) status = db.Execute(absl::StrCat("PRAGMA user_version=", from + 1).c_str());
  if (status.ok()) return db.Execute("COMMIT");
  db.Execute("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace

absl::Status MigrateSchema(SqliteDb& db, absl::optional<int64_t> to) {
  ASSIGN_OR_RETURN(const int64_t found, UserVersion(db));
  if (found > kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the database has schema version ", found, ", this build knows ", kVersion,
                     ": start the newer profiler-service that wrote it, or choose another --state"));
  }
  for (int64_t version = found; version < to.value_or(kVersion); ++version) RETURN_IF_ERROR(Migrate(db, version));
  return absl::OkStatus();
}

}  // namespace sassay::store
