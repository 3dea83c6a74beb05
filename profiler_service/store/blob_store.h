// Content addressed by SHA-256 and visible per tenant.
//
// Why visibility: a digest is not a secret, so knowing one must not open another tenant's bytes. A tenant sees a blob
// only after having uploaded every byte of it; identical bytes are then kept once. In a folder (directory_blobs.h) or
// in PostgreSQL (postgres/postgres_blobs.h), where several processes share them; both pass testing/blob_conformance.h.
#ifndef SASSAY_PROFILER_SERVICE_STORE_BLOB_STORE_H_
#define SASSAY_PROFILER_SERVICE_STORE_BLOB_STORE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
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

// Threads: thread-safe; calls block on the disk or the database. What has arrived survives a restart and expires (see
// Expire).
// Failure: INVALID_ARGUMENT for digests and offsets; RESOURCE_EXHAUSTED names the service's flag; UNAVAILABLE if the
// disk or the database fails or is full: the call may be repeated.
class BlobStore {
 public:
  virtual ~BlobStore() = default;

  // Whether this tenant has uploaded the blob. False also where nobody can say.
  virtual bool Has(absl::string_view tenant, absl::string_view sha256) const = 0;

  // NOT_FOUND if nothing has arrived from this tenant.
  virtual absl::StatusOr<WriteStatus> Status(absl::string_view tenant, absl::string_view sha256) const = 0;

  // Takes a chunk that begins at `offset`. Bytes that are already here are skipped, so that a resumed stream may
  // overlap; a gap is INVALID_ARGUMENT. With the last byte the whole is hashed, made durable and visible; bytes that do
  // not hash to the digest are dropped with INVALID_ARGUMENT.
  virtual absl::StatusOr<WriteStatus> Write(absl::string_view tenant, absl::string_view sha256, uint64_t total_bytes,
                                            uint64_t offset, absl::string_view data) = 0;

  // Up to `limit` bytes from `offset`; fewer only at the end. NOT_FOUND; OUT_OF_RANGE past the end.
  virtual absl::StatusOr<std::string> Read(absl::string_view tenant, absl::string_view sha256, uint64_t offset,
                                           uint64_t limit) const = 0;
  // The whole blob. DATA_LOSS if the bytes are not those of the digest any more; they are dropped then, for every
  // tenant, so that they can be uploaded again.
  virtual absl::StatusOr<std::string> ReadAll(absl::string_view tenant, absl::string_view sha256) = 0;
  virtual absl::StatusOr<uint64_t> Size(absl::string_view tenant, absl::string_view sha256) const = 0;

  // Notes that a blob is in use, for Expire; may be kept to the minute. NOT_FOUND.
  virtual absl::Status Touch(absl::string_view tenant, absl::string_view sha256, absl::Time now) = 0;

  // Removes partial uploads without a byte since `partial_before` and blobs unused since `blob_before`. What is being
  // uploaded or touched meanwhile is there afterwards, or its Write or Touch has said that it is not.
  virtual absl::Status Expire(absl::Time partial_before, absl::Time blob_before) = 0;

  // Bytes held for a tenant, and for all, counted as the quota counts.
  virtual absl::StatusOr<uint64_t> TenantBytes(absl::string_view tenant) const = 0;
  virtual absl::StatusOr<uint64_t> TotalBytes() const = 0;

  virtual const BlobLimits& limits() const = 0;
};

// What both kinds say alike.
absl::Status CheckBlobDigest(absl::string_view sha256);
absl::Status CheckBlobChunk(const BlobLimits& limits, uint64_t total_bytes, uint64_t offset, uint64_t size);
// `others`: what the tenant holds besides this one, of which `bytes` have arrived or will.
absl::Status CheckBlobRoom(const BlobLimits& limits, uint64_t others, uint64_t bytes);
absl::Status BlobGap(uint64_t committed, uint64_t offset);
absl::Status WrongBlobBytes(uint64_t total_bytes, absl::string_view sha256, uint64_t arrived, absl::string_view actual);
absl::Status NoSuchBlob(absl::string_view sha256);
absl::Status PastBlobEnd(uint64_t offset, uint64_t size);
// What a blob costs of the quota: whole blocks of 4 KiB, so that a million tiny blobs are not free.
uint64_t BlobCharge(uint64_t bytes);

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_BLOB_STORE_H_
