#include "profiler_service/store/blob_store.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/sha256.h"

namespace sassay::store {

absl::Status CheckBlobDigest(absl::string_view sha256) {
  if (IsSha256Hex(sha256)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("sha256: expected 64 lower-case hex digits, got '", absl::CEscape(sha256.substr(0, 80)), "'"));
}

absl::Status CheckBlobChunk(const BlobLimits& limits, uint64_t total_bytes, uint64_t offset, uint64_t size) {
  if (total_bytes > limits.max_blob_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the blob has ", total_bytes, " bytes, the limit is ",
                                                     limits.max_blob_bytes, " (--max-blob-bytes)"));
  }
  if (offset <= total_bytes && size <= total_bytes - offset) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("offset_bytes: the chunk [", offset, ", ", offset, " + ", size,
                                                 ") does not fit into total_bytes ", total_bytes));
}

absl::Status CheckBlobRoom(const BlobLimits& limits, uint64_t others, uint64_t bytes) {
  const uint64_t charge = BlobCharge(bytes);
  if (charge <= limits.tenant_bytes && others <= limits.tenant_bytes - charge) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("this tenant holds ", others, " bytes, ", charge,
                                                   " more would pass its quota of ", limits.tenant_bytes,
                                                   " (--max-bytes-per-tenant)"));
}

absl::Status BlobGap(uint64_t committed, uint64_t offset) {
  return absl::InvalidArgumentError(absl::StrCat("offset_bytes: expected at most ", committed, " (committed), got ",
                                                 offset, "; ask QueryWriteStatus and go on from there"));
}

absl::Status WrongBlobBytes(uint64_t total_bytes, absl::string_view sha256, uint64_t arrived,
                            absl::string_view actual) {
  return absl::InvalidArgumentError(absl::StrCat("sha256: expected ", total_bytes, " bytes with digest ", sha256,
                                                 ", got ", arrived, " bytes with digest ", actual,
                                                 "; the upload was dropped, send it again from offset 0"));
}

absl::Status NoSuchBlob(absl::string_view sha256) {
  return absl::NotFoundError(absl::StrCat("no blob ", sha256, " of this tenant; upload it with WriteBlob"));
}

absl::Status PastBlobEnd(uint64_t offset, uint64_t size) {
  return absl::OutOfRangeError(absl::StrCat("offset_bytes: ", offset, " is past the blob's end at ", size));
}

uint64_t BlobCharge(uint64_t bytes) { return std::max<uint64_t>(1, (bytes + 4095) / 4096) * 4096; }

}  // namespace sassay::store
