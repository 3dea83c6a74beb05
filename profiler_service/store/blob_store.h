// Content on disk, addressed by SHA-256 and visible per tenant.
//
// Why visibility: a digest is not a secret, so knowing one must not open another tenant's bytes. A tenant sees a blob
// only after having uploaded every byte of it; identical bytes are then kept once (hard links).
#ifndef SASSAY_PROFILER_SERVICE_STORE_BLOB_STORE_H_
#define SASSAY_PROFILER_SERVICE_STORE_BLOB_STORE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sassay::store {

// Limits, in bytes. Each is a flag of the service, which messages name.
struct BlobLimits {
  uint64_t max_blob_bytes = uint64_t{64} << 20;
  uint64_t tenant_bytes = uint64_t{4} << 30;  // whole blobs and what arrived of others, in 4 KiB blocks
};

// How far an upload has come.
struct WriteStatus {
  uint64_t committed_bytes = 0;
  bool complete = false;
};

// Layout, all below one directory that nobody else writes:
//   blobs/<2 digits>/<sha256>          the bytes
//   tenants/<tenant in hex>/<sha256>   a hard link: this tenant has proved possession
//   partial/<tenant in hex>/<sha256>   what has arrived of an upload; its length is the committed size
//
// Life cycle: Open scans what each tenant holds. Partial uploads survive a restart and expire (see Expire).
// Threads: thread-safe; calls block on the disk.
// Failure: INVALID_ARGUMENT for digests and offsets; RESOURCE_EXHAUSTED names the service's flag; UNAVAILABLE if the
// disk fails or is full.
class BlobStore {
 public:
  static absl::StatusOr<std::unique_ptr<BlobStore>> Open(const std::filesystem::path& directory,
                                                         const BlobLimits& limits);

  // Whether this tenant has uploaded the blob.
  bool Has(absl::string_view tenant, absl::string_view sha256) const;

  // NOT_FOUND if nothing has arrived from this tenant.
  absl::StatusOr<WriteStatus> Status(absl::string_view tenant, absl::string_view sha256) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes a chunk that begins at `offset`. Bytes that are already here are skipped, so that a resumed stream may
  // overlap; a gap is INVALID_ARGUMENT. With the last byte the whole is hashed, synced and made visible; bytes that do
  // not hash to the digest are dropped with INVALID_ARGUMENT.
  absl::StatusOr<WriteStatus> Write(absl::string_view tenant, absl::string_view sha256, uint64_t total_bytes,
                                    uint64_t offset, absl::string_view data) ABSL_LOCKS_EXCLUDED(mutex_);

  // Up to `limit` bytes from `offset`; fewer only at the end. NOT_FOUND; OUT_OF_RANGE past the end.
  absl::StatusOr<std::string> Read(absl::string_view tenant, absl::string_view sha256, uint64_t offset,
                                   uint64_t limit) const;
  // The whole blob. DATA_LOSS if the bytes on the disk are not those of the digest any more; they are dropped then, for
  // every tenant, so that they can be uploaded again.
  absl::StatusOr<std::string> ReadAll(absl::string_view tenant, absl::string_view sha256) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<uint64_t> Size(absl::string_view tenant, absl::string_view sha256) const;

  // Notes that a blob is in use, for Expire. NOT_FOUND.
  absl::Status Touch(absl::string_view tenant, absl::string_view sha256, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

  // Removes partial uploads without a byte since `partial_before` and blobs unused since `blob_before`.
  absl::Status Expire(absl::Time partial_before, absl::Time blob_before) ABSL_LOCKS_EXCLUDED(mutex_);

  // Bytes held for a tenant, and for all, counted as the quota counts.
  uint64_t TenantBytes(absl::string_view tenant) const ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t TotalBytes() const ABSL_LOCKS_EXCLUDED(mutex_);

  const BlobLimits& limits() const { return limits_; }

 private:
  struct Upload;
  using Key = std::pair<std::string, std::string>;  // tenant in hex, sha256

  BlobStore(std::filesystem::path directory, const BlobLimits& limits);
  absl::Status Scan() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status CheckRoom(const Key& key, uint64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // RESOURCE_EXHAUSTED already here if the whole would not fit.
  absl::StatusOr<std::shared_ptr<Upload>> Begin(const Key& key, uint64_t total_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Counts the first `bytes` of an upload.
  absl::Status Reserve(const Key& key, uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void Forget(const Key& key) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Publish(const Key& key, uint64_t committed, uint64_t total, int fd) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status LinkForTenant(const Key& key, const std::filesystem::path& source) ABSL_LOCKS_EXCLUDED(mutex_);
  void DropEverywhere(absl::string_view sha256) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ExpirePartials(absl::Time before) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ExpireBlobs(absl::Time before) ABSL_LOCKS_EXCLUDED(mutex_);

  std::filesystem::path PartialPath(const Key& key) const;
  std::filesystem::path TenantPath(const Key& key) const;
  std::filesystem::path BlobPath(absl::string_view sha256) const;

  const std::filesystem::path directory_;
  const BlobLimits limits_;
  // Also held where names are linked, touched and unlinked: what Expire has judged must not come to life in between.
  mutable absl::Mutex mutex_;
  // Uploads under way in this process.
  std::map<Key, std::shared_ptr<Upload>> uploads_ ABSL_GUARDED_BY(mutex_);
  // What each tenant (in hex) holds: whole blobs plus what arrived of others.
  std::map<std::string, uint64_t> held_ ABSL_GUARDED_BY(mutex_);
  // What arrived of each upload, as counted in `held_`. A size that is only declared costs nothing: whoever breaks off
  // at the first byte, a thousand times, must not use up a quota.
  std::map<Key, uint64_t> reserved_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_BLOB_STORE_H_
