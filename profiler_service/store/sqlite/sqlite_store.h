// The embedded store: one SQLite file of one process.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQLITE_STORE_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQLITE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "profiler_service/store/store.h"

namespace sassay::store {

// Opens or creates the database at `path` and brings its schema up to date. WAL, synchronous=FULL, group commit by one
// writer thread; reads have a connection of their own and never wait for a write.
// kEverybody: Store::Observe tells of every change, also of this process's own; for a front end, whose nodes write
// through it. FAILED_PRECONDITION: another process has it open, or a newer build wrote it. UNAVAILABLE: the file cannot
// be opened.
absl::StatusOr<std::unique_ptr<Store>> OpenSqliteStore(const std::string& path, Hears hears = Hears::kOthers);

// Records of the audit log with sequence > `after`, in order, also while a service uses the database. UNAVAILABLE if
// there is no database.
absl::StatusOr<std::vector<AuditRecord>> ReadAuditLog(const std::string& path, uint64_t after, int limit);

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQLITE_STORE_H_
