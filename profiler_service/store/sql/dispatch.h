// Who is next, and what it costs: the store's side of scheduling/policy.h. Shares are read and changed by dispatches
// alone, one at a time (Scope::dispatches); whoever ends an attempt leaves a settlement for the next one.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQL_DISPATCH_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQL_DISPATCH_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "profiler_service/scheduling/account.h"
#include "profiler_service/store/sql/db.h"
#include "profiler_service/store/store.h"

namespace sassay::store::sql {

scheduling::Priority PriorityOf(const sassay::v1::ProfileRequest& request);

// As in store.h.
absl::StatusOr<absl::optional<Lease>> Acquire(Db& db, const Asker& asker, absl::Time now, absl::Time expires_at);

// Steps of the writes that end an attempt. `gpu_ns` is what its stages used.
absl::Status PayFor(Db& db, const std::string& id, uint64_t gpu_ns, scheduling::Outcome outcome, absl::Time now);
// Remembers on which nodes it was lost in a row.
absl::Status NoteLoss(Db& db, const std::string& id, Ended ended);

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_DISPATCH_H_
