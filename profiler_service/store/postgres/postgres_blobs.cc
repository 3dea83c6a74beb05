#include "profiler_service/store/postgres/postgres_blobs.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/postgres/connection.h"
#include "profiler_service/store/postgres/locks.h"
#include "profiler_service/store/postgres/postgres_db.h"
#include "profiler_service/store/postgres/schema.h"
#include "profiler_service/store/sql/sql_store.h"

namespace sassay::store {
namespace {

using postgres::Connection;
using postgres::PostgresDb;
using sql::Db;
using sql::Query;

// A touch within this time of the last one changes nothing.
constexpr absl::Duration kUseIsKeptTo = absl::Minutes(1);

// One blob of one tenant.
struct Key {
  std::string tenant, sha256;
};

int64_t Signed(uint64_t value) { return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX)); }

absl::StatusOr<absl::optional<uint64_t>> OneNumber(Query& query) {
  ASSIGN_OR_RETURN(const bool found, query.Step());
  if (!found) return absl::optional<uint64_t>();
  return absl::optional<uint64_t>(static_cast<uint64_t>(query.Int(0)));
}

absl::StatusOr<absl::optional<uint64_t>> SizeOf(Db& db, const Key& key) {
  Query query = db.Prepare("SELECT size FROM blob_holders WHERE tenant = ? AND sha256 = ?");
  query.Bind(key.tenant).Bind(key.sha256);
  return OneNumber(query);
}

absl::StatusOr<absl::optional<uint64_t>> CommittedOf(Db& db, const Key& key) {
  Query query = db.Prepare("SELECT committed FROM blob_uploads WHERE tenant = ? AND sha256 = ?");
  query.Bind(key.tenant).Bind(key.sha256);
  return OneNumber(query);
}

// What the tenant holds besides this upload, as the quota counts.
absl::StatusOr<uint64_t> HeldBesides(Db& db, const Key& key) {
  Query query = db.Prepare(
      "SELECT (SELECT coalesce(sum(greatest(1, (size + 4095) / 4096)), 0) FROM blob_holders WHERE tenant = ?1)::bigint "
      "* 4096 + (SELECT coalesce(sum(greatest(1, (committed + 4095) / 4096)), 0) FROM blob_uploads WHERE tenant = ?1 "
      "AND sha256 <> ?2)::bigint * 4096");
  query.Bind(key.tenant).Bind(key.sha256);
  ASSIGN_OR_RETURN(const absl::optional<uint64_t> held, OneNumber(query));
  return held.value_or(0);
}

absl::Status AppendChunk(Db& db, const Key& key, uint64_t position, absl::string_view bytes) {
  RETURN_IF_ERROR(
      db.Prepare("INSERT INTO blob_uploads (tenant, sha256, committed) VALUES (?, ?, ?) ON CONFLICT (tenant, "
                 "sha256) DO UPDATE SET committed = excluded.committed, arrived_at = now()")
          .Bind(key.tenant)
          .Bind(key.sha256)
          .Bind(Signed(position + bytes.size()))
          .Run());
  if (bytes.empty()) return absl::OkStatus();
  return db.Prepare("INSERT INTO blob_upload_chunks (tenant, sha256, position, bytes) VALUES (?, ?, ?, ?)")
      .Bind(key.tenant)
      .Bind(key.sha256)
      .Bind(Signed(position))
      .BindBlob(bytes)
      .Run();
}

absl::StatusOr<std::string> DigestOfUpload(Db& db, const Key& key) {
  Query query = db.Prepare("SELECT bytes FROM blob_upload_chunks WHERE tenant = ? AND sha256 = ? ORDER BY position");
  query.Bind(key.tenant).Bind(key.sha256);
  Sha256Stream stream;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return absl::BytesToHexString(stream.Finish());
    stream.Update(query.Blob(0));
  }
}

absl::Status DropUpload(Db& db, const Key& key) {
  return db.Prepare("DELETE FROM blob_uploads WHERE tenant = ? AND sha256 = ?").Bind(key.tenant).Bind(key.sha256).Run();
}

// The upload's bytes become the blob's, unless another tenant's have.
absl::Status Publish(Db& db, const Key& key, uint64_t size) {
  RETURN_IF_ERROR(db.Prepare("SELECT " SASSAY_SHARE_BLOBS).Run());
  RETURN_IF_ERROR(db.Prepare("WITH made AS (INSERT INTO blobs (sha256, size) VALUES (?2, ?3) ON CONFLICT DO NOTHING "
                             "RETURNING sha256) INSERT INTO blob_chunks (sha256, position, bytes) SELECT c.sha256, "
                             "c.position, c.bytes FROM blob_upload_chunks c JOIN made ON made.sha256 = c.sha256 WHERE "
                             "c.tenant = ?1")
                      .Bind(key.tenant)
                      .Bind(key.sha256)
                      .Bind(Signed(size))
                      .Run());
  RETURN_IF_ERROR(
      db.Prepare("INSERT INTO blob_holders (tenant, sha256, size, used_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING")
          .Bind(key.tenant)
          .Bind(key.sha256)
          .Bind(Signed(size))
          .Bind(absl::Now())
          .Run());
  return DropUpload(db, key);
}

struct Chunk {
  Key key;
  uint64_t total_bytes, offset;
  absl::string_view data;
};

// What a chunk came to; a refusal that leaves something changed is no error of the transaction.
struct Taken {
  WriteStatus status;
  absl::Status refused;
};

absl::StatusOr<Taken> Take(Db& db, const BlobLimits& limits, const Chunk& chunk) {
  RETURN_IF_ERROR(
      db.Prepare("SELECT pg_advisory_xact_lock(" SASSAY_BLOB_TENANTS ", hashtext(?))").Bind(chunk.key.tenant).Run());
  ASSIGN_OR_RETURN(const absl::optional<uint64_t> whole, SizeOf(db, chunk.key));
  if (whole.has_value()) return Taken{{*whole, true}, absl::OkStatus()};
  ASSIGN_OR_RETURN(const absl::optional<uint64_t> known, CommittedOf(db, chunk.key));
  const uint64_t committed = known.value_or(0), end = chunk.offset + chunk.data.size();
  ASSIGN_OR_RETURN(const uint64_t others, HeldBesides(db, chunk.key));
  RETURN_IF_ERROR(CheckBlobRoom(limits, others, chunk.total_bytes));
  if (chunk.offset > committed) return BlobGap(committed, chunk.offset);
  const uint64_t skipped = std::min<uint64_t>(committed - chunk.offset, chunk.data.size());
  const uint64_t now_committed = std::max(committed, end);
  RETURN_IF_ERROR(AppendChunk(db, chunk.key, committed, chunk.data.substr(skipped)));
  if (now_committed < chunk.total_bytes) return Taken{{now_committed, false}, absl::OkStatus()};
  ASSIGN_OR_RETURN(const std::string digest, DigestOfUpload(db, chunk.key));
  if (digest == chunk.key.sha256 && now_committed == chunk.total_bytes) {
    RETURN_IF_ERROR(Publish(db, chunk.key, now_committed));
    return Taken{{now_committed, true}, absl::OkStatus()};
  }
  RETURN_IF_ERROR(DropUpload(db, chunk.key));
  return Taken{{}, WrongBlobBytes(chunk.total_bytes, chunk.key.sha256, now_committed, digest)};
}

// Runs `body` in a transaction that leaves nothing behind where it fails.
template <typename T>
absl::StatusOr<T> InTransaction(Db& db, const std::function<absl::StatusOr<T>(Db&)>& body) {
  RETURN_IF_ERROR(db.Begin({}));
  absl::StatusOr<T> answer = body(db);
  if (!answer.ok()) {
    db.Rollback();
    return answer;
  }
  RETURN_IF_ERROR(db.Commit());
  return answer;
}

absl::StatusOr<std::string> ReadRange(Db& db, const Key& key, uint64_t offset, uint64_t limit) {
  ASSIGN_OR_RETURN(const absl::optional<uint64_t> size, SizeOf(db, key));
  if (!size.has_value()) return NoSuchBlob(key.sha256);
  if (offset > *size) return PastBlobEnd(offset, *size);
  const uint64_t end = offset + std::min(limit, *size - offset);
  Query query = db.Prepare(
      "SELECT position, bytes FROM blob_chunks WHERE sha256 = ?1 AND position < ?3 AND position >= (SELECT "
      "coalesce(max(position), 0) FROM blob_chunks WHERE sha256 = ?1 AND position <= ?2) ORDER BY position");
  query.Bind(key.sha256).Bind(Signed(offset)).Bind(Signed(end));
  std::string bytes;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return bytes;
    const uint64_t position = static_cast<uint64_t>(query.Int(0));
    const std::string chunk = query.Blob(1);
    const uint64_t from = std::max(position, offset) - position, to = std::min(position + chunk.size(), end) - position;
    if (from < to) bytes.append(chunk, from, to - from);
  }
}

// How much one transaction of Expire forgets: whoever publishes waits for it, and statements have a time limit.
constexpr int kForgottenAtOnce = 16;

// Whoever publishes meanwhile waits, or has its holder's row already; whoever notes a use comes first, or is told that
// it is gone: the age is looked at again when the row is had. Whether there may be more.
absl::StatusOr<bool> ForgetSomeUnused(Db& db, absl::Time blob_before) {
  RETURN_IF_ERROR(db.Prepare("SELECT " SASSAY_LOCK_BLOBS).Run());
  std::vector<std::string> forgotten;
  {
    Query query = db.Prepare(
        "DELETE FROM blob_holders WHERE used_at < ?1 AND (tenant, sha256) IN (SELECT tenant, sha256 FROM blob_holders "
        "WHERE used_at < ?1 ORDER BY used_at LIMIT ?2) RETURNING sha256");
    query.Bind(blob_before).Bind(kForgottenAtOnce);
    for (;;) {
      ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) break;
      forgotten.push_back(query.Text(0));
    }
  }
  for (const std::string& sha256 : forgotten) {
    RETURN_IF_ERROR(db.Prepare("DELETE FROM blobs WHERE sha256 = ? AND NOT EXISTS (SELECT 1 FROM blob_holders h WHERE "
                               "h.sha256 = blobs.sha256)")
                        .Bind(sha256)
                        .Run());
  }
  return forgotten.size() == kForgottenAtOnce;
}

// The same of uploads that were broken off.
absl::StatusOr<bool> ForgetSomePartial(Db& db, absl::Time partial_before) {
  Query query = db.Prepare(
      "DELETE FROM blob_uploads WHERE extract(epoch FROM arrived_at) < ?1::bigint / 1000000000 AND (tenant, sha256) IN "
      "(SELECT tenant, sha256 FROM blob_uploads WHERE extract(epoch FROM arrived_at) < ?1::bigint / 1000000000 LIMIT "
      "?2) "
      "RETURNING sha256");
  query.Bind(partial_before).Bind(kForgottenAtOnce);
  for (int forgotten = 0;; ++forgotten) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return forgotten == kForgottenAtOnce;
  }
}

absl::StatusOr<bool> DropEverywhere(Db& db, const std::string& sha256) {
  RETURN_IF_ERROR(db.Prepare("SELECT " SASSAY_LOCK_BLOBS).Run());
  RETURN_IF_ERROR(db.Prepare("DELETE FROM blob_holders WHERE sha256 = ?").Bind(sha256).Run());
  RETURN_IF_ERROR(db.Prepare("DELETE FROM blobs WHERE sha256 = ?").Bind(sha256).Run());
  return true;
}

absl::StatusOr<bool> NoteUse(Db& db, const Key& key, absl::Time now) {
  Query query = db.Prepare(
      "UPDATE blob_holders SET used_at = ?3 WHERE tenant = ?1 AND sha256 = ?2 AND used_at NOT BETWEEN ?4 AND ?3");
  RETURN_IF_ERROR(query.Bind(key.tenant).Bind(key.sha256).Bind(now).Bind(now - kUseIsKeptTo).Run());
  // Afterwards, as expiry may have come first.
  ASSIGN_OR_RETURN(const absl::optional<uint64_t> size, SizeOf(db, key));
  if (!size.has_value()) return NoSuchBlob(key.sha256);
  return true;
}

class PostgresBlobs final : public BlobStore {
 public:
  PostgresBlobs(std::vector<std::unique_ptr<Db>> sessions, const BlobLimits& limits)
      : sessions_(std::move(sessions)), limits_(limits) {}

  bool Has(absl::string_view tenant, absl::string_view sha256) const override { return Size(tenant, sha256).ok(); }

  absl::StatusOr<WriteStatus> Status(absl::string_view tenant, absl::string_view sha256) const override {
    RETURN_IF_ERROR(CheckBlobDigest(sha256));
    return sessions_.Run<WriteStatus>([key = KeyOf(tenant, sha256)](Db& db) -> absl::StatusOr<WriteStatus> {
      ASSIGN_OR_RETURN(const absl::optional<uint64_t> whole, SizeOf(db, key));
      if (whole.has_value()) return WriteStatus{*whole, true};
      ASSIGN_OR_RETURN(const absl::optional<uint64_t> committed, CommittedOf(db, key));
      if (!committed.has_value()) return NoSuchBlob(key.sha256);
      return WriteStatus{*committed, false};
    });
  }

  absl::StatusOr<WriteStatus> Write(absl::string_view tenant, absl::string_view sha256, uint64_t total_bytes,
                                    uint64_t offset, absl::string_view data) override {
    RETURN_IF_ERROR(CheckBlobDigest(sha256));
    RETURN_IF_ERROR(CheckBlobChunk(limits_, total_bytes, offset, data.size()));
    const Chunk chunk = {KeyOf(tenant, sha256), total_bytes, offset, data};
    ASSIGN_OR_RETURN(const Taken taken, Transact<Taken>([&](Db& db) { return Take(db, limits_, chunk); }));
    RETURN_IF_ERROR(taken.refused);
    return taken.status;
  }

  absl::StatusOr<std::string> Read(absl::string_view tenant, absl::string_view sha256, uint64_t offset,
                                   uint64_t limit) const override {
    RETURN_IF_ERROR(CheckBlobDigest(sha256));
    return sessions_.Run<std::string>(
        [&, key = KeyOf(tenant, sha256)](Db& db) { return ReadRange(db, key, offset, limit); });
  }

  absl::StatusOr<std::string> ReadAll(absl::string_view tenant, absl::string_view sha256) override {
    ASSIGN_OR_RETURN(std::string bytes, Read(tenant, sha256, 0, UINT64_MAX));
    if (Sha256Hex(bytes) == sha256) return bytes;
    RETURN_IF_ERROR(Transact<bool>([&](Db& db) { return DropEverywhere(db, std::string(sha256)); }).status());
    return absl::DataLossError(absl::StrCat("blob ", sha256, " was damaged and dropped; upload it again"));
  }

  absl::StatusOr<uint64_t> Size(absl::string_view tenant, absl::string_view sha256) const override {
    RETURN_IF_ERROR(CheckBlobDigest(sha256));
    return sessions_.Run<uint64_t>([key = KeyOf(tenant, sha256)](Db& db) -> absl::StatusOr<uint64_t> {
      ASSIGN_OR_RETURN(const absl::optional<uint64_t> size, SizeOf(db, key));
      if (!size.has_value()) return NoSuchBlob(key.sha256);
      return *size;
    });
  }

  absl::Status Touch(absl::string_view tenant, absl::string_view sha256, absl::Time now) override {
    RETURN_IF_ERROR(CheckBlobDigest(sha256));
    return sessions_.Run<bool>([&, key = KeyOf(tenant, sha256)](Db& db) { return NoteUse(db, key, now); }).status();
  }

  absl::Status Expire(absl::Time partial_before, absl::Time blob_before) override {
    RETURN_IF_ERROR(UntilNoneIsLeft([&](Db& db) { return ForgetSomePartial(db, partial_before); }));
    return UntilNoneIsLeft([&](Db& db) { return ForgetSomeUnused(db, blob_before); });
  }

  absl::StatusOr<uint64_t> TenantBytes(absl::string_view tenant) const override {
    return sessions_.Run<uint64_t>([key = KeyOf(tenant, "")](Db& db) { return HeldBesides(db, key); });
  }

  absl::StatusOr<uint64_t> TotalBytes() const override {
    return sessions_.Run<uint64_t>([](Db& db) -> absl::StatusOr<uint64_t> {
      Query query = db.Prepare(
          "SELECT ((SELECT coalesce(sum(greatest(1, (size + 4095) / 4096)), 0) FROM blob_holders) + (SELECT "
          "coalesce(sum(greatest(1, (committed + 4095) / 4096)), 0) FROM blob_uploads))::bigint * 4096");
      ASSIGN_OR_RETURN(const absl::optional<uint64_t> total, OneNumber(query));
      return total.value_or(0);
    });
  }

  const BlobLimits& limits() const override { return limits_; }

 private:
  // Names may have any bytes; the database's text may not.
  static Key KeyOf(absl::string_view tenant, absl::string_view sha256) {
    return {absl::BytesToHexString(tenant), std::string(sha256)};
  }
  template <typename T>
  absl::StatusOr<T> Transact(const std::function<absl::StatusOr<T>(Db&)>& body) const {
    return sessions_.Run<T>([&](Db& db) { return InTransaction<T>(db, body); });
  }

  absl::Status UntilNoneIsLeft(const std::function<absl::StatusOr<bool>(Db&)>& some) const {
    for (;;) {
      ASSIGN_OR_RETURN(const bool more, Transact<bool>(some));
      if (!more) return absl::OkStatus();
    }
  }

  mutable sql::Readers sessions_;
  const BlobLimits limits_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BlobStore>> OpenPostgresBlobs(const std::string& uri, const BlobLimits& limits,
                                                             int sessions) {
  RETURN_IF_ERROR(postgres::CheckUri(uri));
  {
    ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, Connection::Open(uri, "profiler-service migration"));
    RETURN_IF_ERROR(postgres::MigrateSchema(*connection));
  }
  std::vector<std::unique_ptr<Db>> opened;
  for (int i = 0; i < sessions; ++i) {
    ASSIGN_OR_RETURN(opened.emplace_back(), PostgresDb::Open(uri, postgres::Role::kBlobs, {}));
  }
  return std::make_unique<PostgresBlobs>(std::move(opened), limits);
}

}  // namespace sassay::store
