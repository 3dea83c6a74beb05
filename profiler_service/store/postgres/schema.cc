#include "profiler_service/store/postgres/schema.h"

#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/postgres/locks.h"

namespace sassay::store::postgres {
namespace {

// Times are nanoseconds since 1970, durations nanoseconds. Names sort as bytes. A released version is never edited: add
// the next one, and a dump of this one to testdata/.
constexpr const char* kMigrations[] = {
    // Version 1: what version 5 of SQLite's schema keeps. Tenants have no row of their own: each live writer counts in
    // its slot, so that no two of them wait for each other.
    R"sql(
CREATE TABLE writers (
  writer text COLLATE "C" PRIMARY KEY,
  transaction bigint NOT NULL,
  seen timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

CREATE SEQUENCE turns;

CREATE TABLE tenant_slots (
  tenant text COLLATE "C" NOT NULL,
  slot integer NOT NULL,
  last_turn bigint NOT NULL DEFAULT 0,
  queued bigint NOT NULL DEFAULT 0,
  leased bigint NOT NULL DEFAULT 0,
  verdicts bigint NOT NULL DEFAULT 0,
  gpu_ns bigint NOT NULL DEFAULT 0,
  excluded_verdicts bigint NOT NULL DEFAULT 0,
  excluded_gpu_ns bigint NOT NULL DEFAULT 0,
  lost_attempts bigint NOT NULL DEFAULT 0,
  lost_gpu_ns bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant, slot)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE VIEW tenants AS
  SELECT tenant AS name, max(last_turn) AS last_turn, sum(queued)::bigint AS queued, sum(leased)::bigint AS leased,
         sum(verdicts)::bigint AS verdicts, sum(gpu_ns)::bigint AS gpu_ns,
         sum(excluded_verdicts)::bigint AS excluded_verdicts, sum(excluded_gpu_ns)::bigint AS excluded_gpu_ns,
         sum(lost_attempts)::bigint AS lost_attempts, sum(lost_gpu_ns)::bigint AS lost_gpu_ns
  FROM tenant_slots GROUP BY tenant;

-- Whoever changes submissions by hand, without a slot, counts in -1.
CREATE FUNCTION my_slot() RETURNS integer LANGUAGE sql STABLE AS
  $$ SELECT coalesce(nullif(current_setting('sassay.slot', true), ''), '-1')::integer $$;

CREATE TABLE submissions (
  place bigint GENERATED ALWAYS AS IDENTITY,
  id text COLLATE "C" PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  request_id text COLLATE "C" NOT NULL,
  request bytea NOT NULL,
  state smallint NOT NULL DEFAULT 0,
  accepted_at bigint NOT NULL,
  queue_deadline bigint NOT NULL,
  run_deadline bigint NOT NULL,
  attempt bigint NOT NULL DEFAULT 0,
  failures bigint NOT NULL DEFAULT 0,
  losses bigint NOT NULL DEFAULT 0,
  exclusions bigint NOT NULL DEFAULT 0,
  cancelling smallint NOT NULL DEFAULT 0,
  last_sequence bigint NOT NULL DEFAULT 0,
  owner text COLLATE "C" NOT NULL DEFAULT '',
  epoch bigint NOT NULL DEFAULT 0,
  expires_at bigint NOT NULL DEFAULT 0,
  UNIQUE (tenant, request_id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX submissions_queued ON submissions (tenant, place) WHERE state = 0;
CREATE INDEX submissions_deadline ON submissions (queue_deadline) WHERE state = 0;
CREATE INDEX submissions_leased ON submissions (expires_at) WHERE state = 1;

CREATE FUNCTION count_accepted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tenant_slots AS t (tenant, slot, queued) VALUES (NEW.tenant, my_slot(), 1)
    ON CONFLICT (tenant, slot) DO UPDATE SET queued = t.queued + 1;
  RETURN NULL;
END $$;
CREATE TRIGGER submissions_inserted AFTER INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION count_accepted();

CREATE FUNCTION count_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO tenant_slots AS t (tenant, slot, queued, leased)
    VALUES (NEW.tenant, my_slot(), (NEW.state = 0)::integer - (OLD.state = 0)::integer,
            (NEW.state = 1)::integer - (OLD.state = 1)::integer)
    ON CONFLICT (tenant, slot) DO UPDATE SET queued = t.queued + excluded.queued, leased = t.leased + excluded.leased;
  RETURN NULL;
END $$;
CREATE TRIGGER submissions_moved AFTER UPDATE OF state ON submissions FOR EACH ROW
  WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION count_moved();

CREATE TABLE events (
  id text COLLATE "C" NOT NULL REFERENCES submissions (id),
  sequence bigint NOT NULL,
  event bytea NOT NULL,
  PRIMARY KEY (id, sequence)
);

CREATE TABLE verdicts (
  id text COLLATE "C" PRIMARY KEY REFERENCES submissions (id),
  sequence bigint NOT NULL,
  status integer NOT NULL,
  decided_at bigint NOT NULL
);
CREATE INDEX verdicts_decided ON verdicts (decided_at, id);

CREATE TABLE attempts (
  id text COLLATE "C" NOT NULL REFERENCES submissions (id),
  attempt bigint NOT NULL,
  gpu text COLLATE "C" NOT NULL,
  seated_at bigint NOT NULL,
  ended_at bigint NOT NULL,
  gpu_ns bigint NOT NULL,
  status integer NOT NULL,
  PRIMARY KEY (id, attempt)
);
CREATE INDEX attempts_gpu ON attempts (gpu, ended_at);

CREATE TABLE exclusions (
  place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL REFERENCES submissions (id),
  attempt bigint NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  incident text COLLATE "C" NOT NULL,
  reason text NOT NULL,
  rerun smallint NOT NULL,
  sequence bigint NOT NULL,
  UNIQUE (id, attempt)
);
CREATE INDEX exclusions_tenant ON exclusions (tenant, place);

CREATE FUNCTION finished_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state = 0 AND EXISTS (
      SELECT 1 FROM exclusions x WHERE x.id = OLD.id AND x.attempt = OLD.attempt AND x.rerun = 1) THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'a finished submission stays finished';
END $$;
CREATE TRIGGER submissions_finished_is_final BEFORE UPDATE OF state ON submissions FOR EACH ROW
  WHEN (OLD.state = 2 AND NEW.state <> 2) EXECUTE FUNCTION finished_is_final();

CREATE TABLE windows (
  gpu text COLLATE "C" NOT NULL,
  incident text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  until bigint NOT NULL,
  reason text NOT NULL,
  PRIMARY KEY (gpu, incident, since)
);
CREATE INDEX windows_until ON windows (gpu, until);

CREATE TABLE provisional (
  id text COLLATE "C" PRIMARY KEY REFERENCES submissions (id),
  attempt bigint NOT NULL,
  gpu text COLLATE "C" NOT NULL,
  ended_at bigint NOT NULL
);

CREATE TABLE holds (
  gpu text COLLATE "C" NOT NULL,
  holder text COLLATE "C" NOT NULL,
  state integer NOT NULL,
  reason text NOT NULL,
  incident text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  actor text NOT NULL,
  PRIMARY KEY (gpu, holder)
);

CREATE TABLE incidents (
  place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  until bigint NOT NULL,
  incident bytea NOT NULL,
  UNIQUE (id, revision)
);

CREATE TABLE nodes (
  name text COLLATE "C" PRIMARY KEY,
  instance text NOT NULL,
  facts bytea NOT NULL,
  seen bigint NOT NULL,
  draining smallint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE audit (
  sequence bigint PRIMARY KEY,
  at bigint NOT NULL,
  actor text NOT NULL,
  action text NOT NULL,
  target text NOT NULL,
  outcome text NOT NULL,
  detail text NOT NULL
);
-- Dense, which no SQL sequence is: whoever writes here holds the lock of records.
CREATE FUNCTION number_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.sequence := (SELECT coalesce(max(sequence), 0) + 1 FROM audit);
  RETURN NEW;
END $$;
CREATE TRIGGER audit_numbered BEFORE INSERT ON audit FOR EACH ROW EXECUTE FUNCTION number_audit();

CREATE FUNCTION never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% never change', TG_TABLE_NAME;
END $$;
CREATE TRIGGER audit_keeps BEFORE UPDATE OR DELETE ON audit FOR EACH STATEMENT EXECUTE FUNCTION never_changes();
CREATE TRIGGER incidents_keep BEFORE UPDATE OR DELETE ON incidents FOR EACH STATEMENT EXECUTE FUNCTION never_changes();
CREATE TRIGGER attempts_keep BEFORE UPDATE ON attempts FOR EACH STATEMENT EXECUTE FUNCTION never_changes();
CREATE TRIGGER exclusions_keep BEFORE UPDATE ON exclusions FOR EACH STATEMENT EXECUTE FUNCTION never_changes();
)sql",
    // Version 2: who is next by GPU time (scheduling/policy.h). Times of shares are microseconds. What an attempt that
    // has ended costs its tenant lies in `settlements` until the next dispatch, which alone changes shares.
    R"sql(
ALTER TABLE submissions
  ADD COLUMN arch text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN priority smallint NOT NULL DEFAULT 0,
  ADD COLUMN model text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN workload text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN lost smallint NOT NULL DEFAULT 0,
  ADD COLUMN lost_on text NOT NULL DEFAULT '',
  ADD COLUMN node text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN charged bigint NOT NULL DEFAULT 0;
DROP INDEX submissions_queued;
CREATE INDEX submissions_lines ON submissions (arch, tenant, priority, lost, model, place) WHERE state = 0;
CREATE INDEX submissions_states ON submissions (arch, tenant, priority, workload, place) WHERE state = 0 AND lost = 0;
CREATE INDEX submissions_suspects ON submissions (node) WHERE state = 1 AND lost = 1;

CREATE TABLE pools (
  arch text COLLATE "C" PRIMARY KEY,
  virtual_time bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE shares (
  arch text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  pass bigint NOT NULL,
  batch_credit bigint NOT NULL,
  running_interactive bigint NOT NULL,
  running_batch bigint NOT NULL,
  charged_interactive bigint NOT NULL,
  charged_batch bigint NOT NULL,
  recent_interactive bigint NOT NULL,
  recent_batch bigint NOT NULL,
  attempts_interactive bigint NOT NULL,
  attempts_batch bigint NOT NULL,
  as_of_interactive bigint NOT NULL,
  as_of_batch bigint NOT NULL,
  PRIMARY KEY (arch, tenant)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE settlements (
  place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  arch text COLLATE "C" NOT NULL,
  tenant text COLLATE "C" NOT NULL,
  priority smallint NOT NULL,
  charged bigint NOT NULL,
  gpu_ns bigint NOT NULL,
  outcome smallint NOT NULL,
  at bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

CREATE TABLE weights (
  tenant text COLLATE "C" PRIMARY KEY,
  weight bigint NOT NULL
);
)sql",
    // Version 3: blobs. Bytes do not get smaller by being compressed again.
    R"sql(
CREATE TABLE blobs (
  sha256 text COLLATE "C" PRIMARY KEY,
  size bigint NOT NULL
);
CREATE TABLE blob_chunks (
  sha256 text COLLATE "C" NOT NULL REFERENCES blobs (sha256) ON DELETE CASCADE,
  position bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (sha256, position)
);
CREATE TABLE blob_holders (
  tenant text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL REFERENCES blobs (sha256),
  size bigint NOT NULL,
  used_at bigint NOT NULL,
  PRIMARY KEY (tenant, sha256)
);
CREATE INDEX blob_holders_sha256 ON blob_holders (sha256);
CREATE INDEX blob_holders_used ON blob_holders (used_at);
CREATE TABLE blob_uploads (
  tenant text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  committed bigint NOT NULL,
  arrived_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant, sha256)
);
CREATE TABLE blob_upload_chunks (
  tenant text COLLATE "C" NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (tenant, sha256, position),
  FOREIGN KEY (tenant, sha256) REFERENCES blob_uploads (tenant, sha256) ON DELETE CASCADE
);
ALTER TABLE blob_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
ALTER TABLE blob_upload_chunks ALTER COLUMN bytes SET STORAGE EXTERNAL;
)sql",
    // Version 4: where a blob's bytes lie if not in chunks: a file's name in the folder that front ends share.
    R"sql(
ALTER TABLE blobs ADD COLUMN file text COLLATE "C" NOT NULL DEFAULT '';
CREATE TABLE blob_folder (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id text NOT NULL
);
)sql",
    // Version 5: verdicts that stand for others (profiler_service/reuse). A submission that was run has a key and may
    // be
    // copied; a copy has no key, and names what it was copied of.
    R"sql(
ALTER TABLE submissions
  ADD COLUMN reuse_key text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN reused_from text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX submissions_reuse ON submissions (tenant, reuse_key, place) WHERE reuse_key <> '' AND state = 2;
CREATE INDEX submissions_copies ON submissions (reused_from) WHERE reused_from <> '';
)sql",
};
constexpr int64_t kVersion = std::size(kMigrations);

// Makes what holds the version, for whoever comes first.
constexpr char kPrepare[] =
    "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0; SELECT " SASSAY_LOCK_MIGRATION
    "; CREATE SCHEMA IF NOT EXISTS sassay; CREATE TABLE IF NOT EXISTS sassay.schema_version (one boolean PRIMARY KEY "
    "DEFAULT true CHECK (one), version bigint NOT NULL); INSERT INTO sassay.schema_version (version) VALUES (0) ON "
    "CONFLICT DO NOTHING";

absl::StatusOr<int64_t> VersionFound(Connection& connection) {
  ASSIGN_OR_RETURN(const Result result, connection.Execute("SELECT version::text FROM sassay.schema_version"));
  int64_t version = 0;
  if (result.rows() == 1 && absl::SimpleAtoi(result.Bytes(0, 0), &version)) return version;
  return absl::DataLossError("PostgreSQL: sassay.schema_version has no version");
}

absl::Status NewerThanWe(int64_t found) {
  return absl::FailedPreconditionError(
      absl::StrCat("the database has schema version ", found, ", this build knows ", kVersion,
                   ": start the newer profiler-service that wrote it, or choose another --store"));
}

// One version, inside a transaction; false if there is nothing to do.
absl::StatusOr<bool> Step(Connection& connection, int64_t to) {
  RETURN_IF_ERROR(connection.Execute(kPrepare).status());
  ASSIGN_OR_RETURN(const int64_t found, VersionFound(connection));
  if (found > kVersion) return NewerThanWe(found);
  if (found >= to) return false;
  RETURN_IF_ERROR(connection.Execute(kMigrations[found]).status());
  RETURN_IF_ERROR(connection.Execute(absl::StrCat("UPDATE sassay.schema_version SET version = ", found + 1)).status());
  return true;
}

}  // namespace

int64_t SchemaVersion() { return kVersion; }

absl::Status MigrateSchema(Connection& connection, absl::optional<int64_t> to) {
  connection.WaitForEver();
  for (;;) {
    RETURN_IF_ERROR(connection.Execute("BEGIN").status());
    const absl::StatusOr<bool> more = Step(connection, to.value_or(kVersion));
    if (!more.ok()) {
      connection.Execute("ROLLBACK").status().IgnoreError();
      return more.status();
    }
    RETURN_IF_ERROR(connection.Execute("COMMIT").status());
    if (!*more) return absl::OkStatus();
  }
}

}  // namespace sassay::store::postgres
