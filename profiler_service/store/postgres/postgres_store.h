// The store that several processes share: one PostgreSQL database (15 or newer).
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_STORE_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/store/store.h"

namespace sassay::store {

struct PostgresOptions {
  std::string uri;               // postgres://…, without a password
  int readers = 4;               // sessions that read; two more write and listen
  Hears hears = Hears::kOthers;  // as of OpenSqliteStore
  // Tests are less patient.
  absl::Duration recover = absl::Seconds(2);  // how long a failed write waits for a server
  absl::Duration look = absl::Seconds(10);    // … for word of a commit whose answer was lost
  absl::Duration answer = absl::Seconds(20);  // a server that is silent for longer is lost
  absl::Duration look_anyway = absl::Seconds(5);
};

// Brings the schema up to date and opens the store. A server that is away later is found again; until then writes and
// reads are UNAVAILABLE. Transactions are durable as the server's `synchronous_commit` says (on, and for a standby that
// takes over: remote_apply with synchronous_standby_names). Sessions keep settings and locks, so a pooler between must
// pool sessions, not transactions.
//
// INVALID_ARGUMENT: the URI. FAILED_PRECONDITION: a newer build wrote it. UNAVAILABLE: no server there.
absl::StatusOr<std::unique_ptr<Store>> OpenPostgresStore(const PostgresOptions& options);

// As ReadAuditLog of sqlite_store.h.
absl::StatusOr<std::vector<AuditRecord>> ReadPostgresAuditLog(const std::string& uri, uint64_t after, int limit);

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_POSTGRES_STORE_H_
