// --store and --blobs: which database and where the blobs are, by their addresses.
#ifndef SASSAY_PROFILER_SERVICE_STORE_OPEN_STORE_H_
#define SASSAY_PROFILER_SERVICE_STORE_OPEN_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_service/store/blob_store.h"
#include "profiler_service/store/store.h"

namespace sassay::store {

// sqlite:FILE, or postgres://HOST/DATABASE with whatever libpq understands behind it (TLS: sslmode, sslrootcert…), but
// no password: that is in a file. INVALID_ARGUMENT with what would be right.
absl::Status CheckStoreAddress(const std::string& address);

// Opens it and brings its schema up to date; `hears` as of OpenSqliteStore. Errors as of CheckStoreAddress,
// OpenSqliteStore and OpenPostgresStore.
absl::StatusOr<std::unique_ptr<Store>> OpenStore(const std::string& address, Hears hears = Hears::kOthers);

// dir:PATH, a folder of this process alone; for front ends that share the database of `store_address`: postgres, that
// database, or postgres+dir:PATH, a folder that all of them mount.
// INVALID_ARGUMENT with what would be right; others as of DirectoryBlobs and OpenPostgresBlobs.
absl::Status CheckBlobAddress(const std::string& address, const std::string& store_address);
absl::StatusOr<std::unique_ptr<BlobStore>> OpenBlobs(const std::string& address, const std::string& store_address,
                                                     const BlobLimits& limits);

// Records of the audit log with sequence > `after`, in order, also while services use the database.
absl::StatusOr<std::vector<AuditRecord>> ReadAuditLogOf(const std::string& address, uint64_t after, int limit);

// The address as logs may show it.
std::string DescribeStoreAddress(const std::string& address);

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_OPEN_STORE_H_
