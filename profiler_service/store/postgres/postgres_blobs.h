// Blobs in PostgreSQL: what front ends on several hosts share without a shared file system.
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_BLOBS_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_BLOBS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "profiler_service/store/blob_store.h"

namespace sassay::store {

// The bytes of a blob lie in chunks as they arrived, once, whoever holds it; a chunk is durable when it is answered. A
// tenant's uploads take turns, by a lock on the tenant, so that its quota holds over all front ends. Expire and the
// moment in which a blob becomes visible exclude each other. A use is noted at most once a minute.
//
// Tables are those of the store's schema, which is brought up to date. Errors as of OpenPostgresStore.
absl::StatusOr<std::unique_ptr<BlobStore>> OpenPostgresBlobs(const std::string& uri, const BlobLimits& limits,
                                                             int sessions = 4);

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_BLOBS_H_
