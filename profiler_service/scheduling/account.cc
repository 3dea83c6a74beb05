#include "profiler_service/scheduling/account.h"

#include <algorithm>
#include <cmath>

namespace sassay::scheduling {

Decayed Decayed::At(absl::Time now, absl::Duration half_life) const {
  if (now <= as_of) return *this;
  const double left = std::exp2(-absl::FDivDuration(now - as_of, half_life));
  return {gpu_time * left, attempts * left, now};
}

void Decayed::Add(absl::Duration cost, absl::Time now, absl::Duration half_life) {
  *this = At(now, half_life);
  gpu_time += cost;
  attempts += 1;
}

absl::Duration EstimateCost(const Account& account, Priority priority, const Rules& rules) {
  const size_t index = static_cast<size_t>(priority);
  const Decayed& recent = account.recent[index];
  const double attempts = recent.attempts + static_cast<double>(account.running[index]) + 1;
  return (recent.gpu_time + account.charged[index] + rules.default_cost) / attempts;
}

void Apply(const Charge& charge, Priority priority, Account& account) {
  const size_t index = static_cast<size_t>(priority);
  if (account.waiting[index] > 0) --account.waiting[index];
  ++account.running[index];
  account.charged[index] += charge.cost;
  account.pass = std::max(account.pass, charge.floor) + charge.step;
  account.batch_credit =
      std::clamp(account.batch_credit + charge.batch_credit_step, absl::ZeroDuration(), charge.batch_credit_most);
}

Settlement Settle(absl::Duration charged, absl::Duration gpu_time, Outcome outcome, uint32_t weight) {
  absl::Duration used = gpu_time;
  if (outcome == Outcome::kWasted) used = absl::ZeroDuration();
  if (outcome == Outcome::kCrashed) used = std::max(gpu_time, charged);
  return {charged, used, (used - charged) / static_cast<int64_t>(std::max<uint32_t>(weight, 1))};
}

void Apply(const Settlement& settlement, Priority priority, absl::Time now, const Rules& rules, Account& account) {
  const size_t index = static_cast<size_t>(priority);
  // What ran before shares were kept was never counted.
  if (account.running[index] > 0) --account.running[index];
  account.charged[index] = std::max(account.charged[index] - settlement.charged, absl::ZeroDuration());
  account.pass += settlement.correction;
  account.recent[index].Add(settlement.used, now, rules.half_life);
}

}  // namespace sassay::scheduling
