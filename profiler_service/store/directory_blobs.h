// Blobs in a folder of one process.
#ifndef SASSAY_PROFILER_SERVICE_STORE_DIRECTORY_BLOBS_H_
#define SASSAY_PROFILER_SERVICE_STORE_DIRECTORY_BLOBS_H_

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
#include "common/base/fd.h"
#include "profiler_service/store/blob_store.h"

namespace sassay::store {

// Layout, all below one directory that nobody else writes:
//   blobs/<2 digits>/<sha256>          the bytes
//   tenants/<tenant in hex>/<sha256>   a hard link: this tenant has proved possession
//   partial/<tenant in hex>/<sha256>   what has arrived of an upload; its length is the committed size
//
// Life cycle: Open scans what each tenant holds.
class DirectoryBlobs final : public BlobStore {
 public:
  // FAILED_PRECONDITION: another process has the folder.
  static absl::StatusOr<std::unique_ptr<BlobStore>> Open(const std::filesystem::path& directory,
                                                         const BlobLimits& limits);

  bool Has(absl::string_view tenant, absl::string_view sha256) const override;
  absl::StatusOr<WriteStatus> Status(absl::string_view tenant, absl::string_view sha256) const override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<WriteStatus> Write(absl::string_view tenant, absl::string_view sha256, uint64_t total_bytes,
                                    uint64_t offset, absl::string_view data) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::string> Read(absl::string_view tenant, absl::string_view sha256, uint64_t offset,
                                   uint64_t limit) const override;
  absl::StatusOr<std::string> ReadAll(absl::string_view tenant, absl::string_view sha256) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<uint64_t> Size(absl::string_view tenant, absl::string_view sha256) const override;
  absl::Status Touch(absl::string_view tenant, absl::string_view sha256, absl::Time now) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Expire(absl::Time partial_before, absl::Time blob_before) override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<uint64_t> TenantBytes(absl::string_view tenant) const override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<uint64_t> TotalBytes() const override ABSL_LOCKS_EXCLUDED(mutex_);
  const BlobLimits& limits() const override { return limits_; }

 private:
  struct Upload;
  using Key = std::pair<std::string, std::string>;  // tenant in hex, sha256

  DirectoryBlobs(UniqueFd lock, std::filesystem::path directory, const BlobLimits& limits);
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

  const UniqueFd lock_;
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

#endif  // SASSAY_PROFILER_SERVICE_STORE_DIRECTORY_BLOBS_H_
