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

// Settles what has ended since the last dispatch; whether anything has. Asked ahead when made.
class Settlements {
 public:
  explicit Settlements(Db& db);
  absl::StatusOr<bool> Fold(const scheduling::Rules& rules);

 private:
  Db& db_;
  Query taken_;
};

// Tenants with something waiting or running in the pool. `waiting` is 1 where something waits: how much, nobody asks.
// Asked ahead when made.
class PoolReading {
 public:
  PoolReading(Db& db, const std::string& arch);
  absl::StatusOr<scheduling::Pool> Read();

 private:
  Query virtual_time_, accounts_;
};
absl::Status SavePool(Db& db, const std::string& arch, scheduling::VirtualTime virtual_time);
// GPU time that tenants used lately in all pools, as Account::recent forgets it.
absl::StatusOr<std::map<std::string, absl::Duration>> RecentUse(Db& db, absl::Time now);
absl::Status SaveAccount(Db& db, const std::string& arch, const scheduling::Account& account);

}  // namespace sassay::store::sql

#endif  // SASSAY_PROFILER_SERVICE_STORE_SQL_SHARES_H_
