// Blobs that front ends on several hosts share: in PostgreSQL, or in a folder that all of them mount, of which
// PostgreSQL keeps the books.
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_BLOBS_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_BLOBS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "profiler_service/store/blob_store.h"

namespace sassay::store {

// With a `folder` whole blobs lie there (blob_folder.h), uploads under way in the database; what lies in either is
// found by whoever has the folder. Without one the bytes of a blob lie in chunks as they arrived, once, whoever holds
// it; a chunk is durable when it is answered. A tenant's uploads take turns, by a lock on the tenant, so that its quota
// holds over all front ends. Expire and the moment in which a blob becomes visible exclude each other. A use is noted
// at most once a minute.
//
// Tables are those of the store's schema, which is brought up to date. Errors as of OpenPostgresStore.
absl::StatusOr<std::unique_ptr<BlobStore>> OpenPostgresBlobs(const std::string& uri, const BlobLimits& limits,
                                                             int sessions = 4, const std::string& folder = "");

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_BLOBS_H_
