// The schema of the PostgreSQL store, by versions.
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_SCHEMA_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_SCHEMA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "profiler_service/store/postgres/connection.h"

namespace sassay::store::postgres {

// The version of this build.
int64_t SchemaVersion();

// Brings the database to this build's schema (everything lies in the PostgreSQL schema `sassay`), one version at a time
// and each in a transaction; forward only. Processes that start together wait for the one that does it. Versions only
// add: a process of the version before goes on working meanwhile. FAILED_PRECONDITION if a newer build has migrated
// it. Tests stop at an earlier version, `to`.
absl::Status MigrateSchema(Connection& connection, absl::optional<int64_t> to = absl::nullopt);

}  // namespace sassay::store::postgres

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_SCHEMA_H_
