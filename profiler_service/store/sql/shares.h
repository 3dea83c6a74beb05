// Shares of tenants in pools, as rows.
#ifndef SASSAY_PROFILER_SERVICE_STORE_SQL_SHARES_H_
#define SASSAY_PROFILER_SERVICE_STORE_SQL_SHARES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/scheduling/policy.h"
#include "profiler_service/store/sql/db.h"

namespace sassay::store::sql {

// Settles what has ended since the last dispatch.
absl::Status FoldSettlements(Db& db, const scheduling::Rules& rules);

// Tenants with something waiting or running in the pool. `waiting` is 1 where something waits: how much, nobody asks.
absl::StatusOr<scheduling::Pool> LoadPool(Db& db, const std::string& arch);
absl::Status SavePool(Db& db, const std::string& arch, scheduling::VirtualTime virtual_time);
// GPU time that tenants used lately in all pools, as Account::recent forgets it.
absl::StatusOr<std::map<std::string, absl::Duration>> RecentUse(Db& db, absl::Time now);
absl::Status SaveAccount(Db& db, const std::string& arch, const scheduling::Account& account);

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_SHARES_H_
