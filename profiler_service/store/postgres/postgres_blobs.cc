#include "profiler_service/store/postgres/postgres_blobs.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"
#include "common/base/random.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "profiler_service/store/postgres/blob_folder.h"
#include "profiler_service/store/postgres/connection.h"
#include "profiler_service/store/postgres/locks.h"
#include "profiler_service/store/postgres/postgres_db.h"
#include "profiler_service/store/postgres/schema.h"
#include "profiler_service/store/sql/sql_store.h"

namespace sassay::store {
namespace {

using postgres::BlobFolder;
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

absl::StatusOr<std::string> BytesOfUpload(Db& db, const Key& key) {
  Query query = db.Prepare("SELECT bytes FROM blob_upload_chunks WHERE tenant = ? AND sha256 = ? ORDER BY position");
  query.Bind(key.tenant).Bind(key.sha256);
  std::string bytes;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return bytes;
    bytes += query.Blob(0);
  }
}

// Where bytes lie, and which files nobody needs once the transaction is committed.
struct Place {
  const BlobFolder* folder = nullptr;  // null: in the database
  std::vector<std::string> unneeded;
};

// The upload's bytes become the blob's, unless another tenant's have.
absl::Status Publish(Db& db, const Key& key, uint64_t size, Place& place) {
  std::string file;
  if (place.folder != nullptr) {
    ASSIGN_OR_RETURN(const std::string bytes, BytesOfUpload(db, key));
    ASSIGN_OR_RETURN(file, place.folder->Keep(bytes));
  }
  RETURN_IF_ERROR(db.Prepare("SELECT " SASSAY_SHARE_BLOBS).Run());
  {
    Query made =
        db.Prepare("INSERT INTO blobs (sha256, size, file) VALUES (?, ?, ?) ON CONFLICT DO NOTHING RETURNING 1");
    ASSIGN_OR_RETURN(const bool first, made.Bind(key.sha256).Bind(Signed(size)).Bind(file).Step());
    if (!first && !file.empty()) place.unneeded.push_back(file);
    if (first && file.empty()) {
      RETURN_IF_ERROR(
          db.Prepare("INSERT INTO blob_chunks (sha256, position, bytes) SELECT sha256, position, bytes FROM "
                     "blob_upload_chunks WHERE tenant = ? AND sha256 = ?")
              .Bind(key.tenant)
              .Bind(key.sha256)
              .Run());
    }
  }
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

absl::StatusOr<Taken> Take(Db& db, const BlobLimits& limits, const Chunk& chunk, Place& place) {
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
    RETURN_IF_ERROR(Publish(db, chunk.key, now_committed, place));
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

absl::StatusOr<std::string> ReadFrom(const BlobFolder* folder, const std::string& file, uint64_t offset,
                                     uint64_t limit) {
  if (folder != nullptr) return folder->Read(file, offset, limit);
  return absl::FailedPreconditionError(
      "the blob lies in a folder that front ends share: start this one with --blobs postgres+dir:PATH, too");
}

absl::StatusOr<std::string> ReadRange(Db& db, const Key& key, uint64_t offset, uint64_t limit,
                                      const BlobFolder* folder) {
  uint64_t size = 0;
  {
    Query query = db.Prepare(
        "SELECT h.size, b.file FROM blob_holders h JOIN blobs b ON b.sha256 = h.sha256 WHERE h.tenant = ? AND h.sha256 "
        "= ?");
    ASSIGN_OR_RETURN(const bool found, query.Bind(key.tenant).Bind(key.sha256).Step());
    if (!found) return NoSuchBlob(key.sha256);
    size = static_cast<uint64_t>(query.Int(0));
    if (offset > size) return PastBlobEnd(offset, size);
    const std::string file = query.Text(1);
    if (!file.empty()) return ReadFrom(folder, file, offset, limit);
  }
  const uint64_t end = offset + std::min(limit, size - offset);
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

// The file of a row that was deleted, if there was one.
absl::Status NoteFile(Query& deleted, Place& place) {
  ASSIGN_OR_RETURN(const bool row, deleted.Step());
  if (row && !deleted.Text(0).empty()) place.unneeded.push_back(deleted.Text(0));
  return absl::OkStatus();
}

// How much one transaction of Expire forgets: whoever publishes waits for it, and statements have a time limit.
constexpr int kForgottenAtOnce = 16;

// Whoever publishes meanwhile waits, or has its holder's row already; whoever notes a use comes first, or is told that
// it is gone: the age is looked at again when the row is had. Whether there may be more.
absl::StatusOr<bool> ForgetSomeUnused(Db& db, absl::Time blob_before, Place& place) {
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
  RETURN_IF_ERROR(ForEach(
      db,
      "DELETE FROM blobs WHERE sha256 = ? AND NOT EXISTS (SELECT 1 FROM blob_holders h WHERE h.sha256 = blobs.sha256) "
      "RETURNING file",
      forgotten.size(), [&](size_t i, Query& query) { query.Bind(forgotten[i]); },
      [&](size_t, Query& query) { return NoteFile(query, place); }));
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

absl::StatusOr<bool> DropEverywhere(Db& db, const std::string& sha256, Place& place) {
  RETURN_IF_ERROR(db.Prepare("SELECT " SASSAY_LOCK_BLOBS).Run());
  RETURN_IF_ERROR(db.Prepare("DELETE FROM blob_holders WHERE sha256 = ?").Bind(sha256).Run());
  Query query = db.Prepare("DELETE FROM blobs WHERE sha256 = ? RETURNING file");
  query.Bind(sha256);
  RETURN_IF_ERROR(NoteFile(query, place));
  return true;
}

// Which files are in use.
absl::StatusOr<std::set<std::string>> FilesInUse(Db& db) {
  Query query = db.Prepare("SELECT file FROM blobs WHERE file <> ''");
  std::set<std::string> files;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) return files;
    files.insert(query.Text(0));
  }
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
  PostgresBlobs(std::vector<std::unique_ptr<Db>> sessions, const BlobLimits& limits, std::unique_ptr<BlobFolder> folder)
      : sessions_(std::move(sessions)), limits_(limits), folder_(std::move(folder)) {}

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
    ASSIGN_OR_RETURN(const Taken taken,
                     Transact<Taken>([&](Db& db, Place& place) { return Take(db, limits_, chunk, place); }));
    RETURN_IF_ERROR(taken.refused);
    return taken.status;
  }

  absl::StatusOr<std::string> Read(absl::string_view tenant, absl::string_view sha256, uint64_t offset,
                                   uint64_t limit) const override {
    RETURN_IF_ERROR(CheckBlobDigest(sha256));
    return sessions_.Run<std::string>(
        [&, key = KeyOf(tenant, sha256)](Db& db) { return ReadRange(db, key, offset, limit, folder_.get()); });
  }

  absl::StatusOr<std::string> ReadAll(absl::string_view tenant, absl::string_view sha256) override {
    absl::StatusOr<std::string> bytes = Read(tenant, sha256, 0, UINT64_MAX);
    if (!bytes.ok() && !absl::IsDataLoss(bytes.status())) return bytes;
    if (bytes.ok() && Sha256Hex(*bytes) == sha256) return bytes;
    RETURN_IF_ERROR(
        Transact<bool>([&](Db& db, Place& place) { return DropEverywhere(db, std::string(sha256), place); }).status());
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
    RETURN_IF_ERROR(UntilNoneIsLeft([&](Db& db, Place&) { return ForgetSomePartial(db, partial_before); }));
    RETURN_IF_ERROR(UntilNoneIsLeft([&](Db& db, Place& place) { return ForgetSomeUnused(db, blob_before, place); }));
    return folder_ == nullptr ? absl::OkStatus() : Sweep(partial_before);
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
  absl::StatusOr<T> Transact(const std::function<absl::StatusOr<T>(Db&, Place&)>& body) const {
    Place place = {folder_.get(), {}};
    const absl::StatusOr<T> answer = sessions_.Run<T>([&](Db& db) {
      place.unneeded.clear();
      return InTransaction<T>(db, [&](Db& inside) { return body(inside, place); });
    });
    // What was not committed is in use still, or is swept one day.
    if (!answer.ok() || folder_ == nullptr) return answer;
    for (const std::string& file : place.unneeded) folder_->Remove(file);
    return answer;
  }
  absl::Status UntilNoneIsLeft(const std::function<absl::StatusOr<bool>(Db&, Place&)>& some) const {
    for (;;) {
      ASSIGN_OR_RETURN(const bool more, Transact<bool>(some));
      if (!more) return absl::OkStatus();
    }
  }
  // Files of transactions that came to nothing, and those whose removal did not happen. Listed first: what is made
  // known afterwards is not among them.
  absl::Status Sweep(absl::Time before) const {
    const std::vector<std::string> old = folder_->OlderThan(before);
    if (old.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::set<std::string> used, sessions_.Run<std::set<std::string>>(FilesInUse));
    for (const std::string& file : old) {
      if (used.count(file) == 0) folder_->Remove(file);
    }
    return absl::OkStatus();
  }

  mutable sql::Readers sessions_;
  const BlobLimits limits_;
  const std::unique_ptr<BlobFolder> folder_;  // null: all lies in the database
};

// The first that uses a folder with this database gives it its identity.
absl::StatusOr<std::unique_ptr<BlobFolder>> OpenFolder(Db& db, const std::string& path) {
  RETURN_IF_ERROR(
      db.Prepare("INSERT INTO blob_folder (id) VALUES (?) ON CONFLICT DO NOTHING").Bind(RandomHex(16)).Run());
  Query query = db.Prepare("SELECT id, NOT EXISTS (SELECT 1 FROM blobs WHERE file <> '') FROM blob_folder");
  RETURN_IF_ERROR(query.Step().status());
  return BlobFolder::Open(path, query.Text(0), /*fresh=*/query.Int(1) != 0);
}

}  // namespace

absl::StatusOr<std::unique_ptr<BlobStore>> OpenPostgresBlobs(const std::string& uri, const BlobLimits& limits,
                                                             int sessions, const std::string& folder) {
  RETURN_IF_ERROR(postgres::CheckUri(uri));
  {
    ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, Connection::Open(uri, "profiler-service migration"));
    RETURN_IF_ERROR(postgres::MigrateSchema(*connection));
  }
  std::vector<std::unique_ptr<Db>> opened;
  for (int i = 0; i < sessions; ++i) {
    ASSIGN_OR_RETURN(opened.emplace_back(), PostgresDb::Open(uri, postgres::Role::kBlobs, {}));
  }
  std::unique_ptr<BlobFolder> files;
  if (!folder.empty()) {
    ASSIGN_OR_RETURN(files, OpenFolder(*opened.front(), folder));
  }
  return std::make_unique<PostgresBlobs>(std::move(opened), limits, std::move(files));
}

}  // namespace sassay::store
