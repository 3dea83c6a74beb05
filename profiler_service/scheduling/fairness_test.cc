// The bounds that docs/decisions/0016 states, on queues that never empty: shares, the part of batch, how long anybody
// waits.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "profiler_service/scheduling/policy.h"

namespace sassay::scheduling {
namespace {

// `places` servers that are never idle; every tenant has as much work as it likes.
class Arena {
 public:
  struct Tenant {
    Account account;
    std::array<bool, kPriorities> has = {false, false};
    std::array<absl::Duration, kPriorities> cost = {absl::Seconds(1), absl::Seconds(1)};
    std::array<absl::Duration, kPriorities> served;
  };

  explicit Arena(int places, uint64_t gpus) : places_(places) { pool_.gpus = gpus; }

  Tenant& Add(const std::string& name, uint32_t weight) {
    Tenant& tenant = tenants_[name];
    tenant.account.tenant = name;
    tenant.account.weight = weight;
    return tenant;
  }

  // Dispatches until the pool has done so much.
  void RunFor(absl::Duration time) {
    const absl::Time end = now_ + time;
    while (now_ < end) {
      while (static_cast<int>(running_.size()) < places_) {
        if (!Dispatch()) break;
      }
      ASSERT_FALSE(running_.empty());
      EndOne();
    }
  }

  absl::Duration served(const std::string& name) { return tenants_[name].served[0] + tenants_[name].served[1]; }
  absl::Duration Served(const std::string& name, Priority priority) {
    return tenants_[name].served[static_cast<size_t>(priority)];
  }
  void Forget() {
    for (auto& [name, tenant] : tenants_) tenant.served = {};
  }
  absl::Time now() const { return now_; }

 private:
  struct Attempt {
    absl::Time end;
    std::string tenant;
    Priority priority;
    absl::Duration charged, cost;
    bool operator<(const Attempt& other) const { return std::tie(end, tenant) < std::tie(other.end, other.tenant); }
  };

  bool Dispatch() {
    pool_.accounts.clear();
    for (auto& [name, tenant] : tenants_) {
      tenant.account.waiting = {tenant.has[0] ? 1u : 0u, tenant.has[1] ? 1u : 0u};
      if (tenant.account.active()) pool_.accounts.push_back(tenant.account);
    }
    Node node;
    node.name = "n";
    const auto decision = Decide(pool_, node, now_, rules_, [this](const Account& account) {
      std::vector<Head> heads;
      for (size_t i = 0; i < kPriorities; ++i) {
        if (account.waiting[i] == 0) continue;
        Head head;
        head.priority = static_cast<Priority>(i);
        head.accepted_at = now_;
        heads.push_back(head);
      }
      return absl::StatusOr<std::vector<Head>>(std::move(heads));
    });
    if (!decision.ok() || !decision->head.has_value()) return false;
    Tenant& tenant = tenants_[pool_.accounts[decision->account].tenant];
    const Priority priority = decision->head->priority;
    Apply(decision->charge, priority, tenant.account);
    pool_.virtual_time = decision->virtual_time;
    const absl::Duration cost = tenant.cost[static_cast<size_t>(priority)];
    // Places share the GPUs evenly.
    const absl::Duration takes = cost * (static_cast<double>(places_) / static_cast<double>(pool_.gpus));
    running_.push_back({now_ + takes, tenant.account.tenant, priority, decision->charge.cost, cost});
    std::push_heap(running_.begin(), running_.end(), Later);
    return true;
  }

  static bool Later(const Attempt& a, const Attempt& b) { return b < a; }

  void EndOne() {
    std::pop_heap(running_.begin(), running_.end(), Later);
    const Attempt ended = running_.back();
    running_.pop_back();
    now_ = ended.end;
    Tenant& tenant = tenants_[ended.tenant];
    tenant.served[static_cast<size_t>(ended.priority)] += ended.cost;
    Apply(Settle(ended.charged, ended.cost, Outcome::kRan, tenant.account.weight), ended.priority, now_, rules_,
          tenant.account);
  }

  const int places_;
  const Rules rules_;
  Pool pool_;
  std::map<std::string, Tenant> tenants_;
  std::vector<Attempt> running_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
};

double Ratio(absl::Duration a, absl::Duration b) { return absl::FDivDuration(a, b); }

TEST(Fairness, GpuTimeGoesByWeightWhateverAnAttemptCosts) {
  Arena arena(40, 10);
  auto& small = arena.Add("small", 1);
  small.has[1] = true;
  small.cost[1] = absl::Milliseconds(300);
  auto& large = arena.Add("large", 2);
  large.has[1] = true;
  large.cost[1] = absl::Seconds(9);
  arena.RunFor(absl::Minutes(2));
  arena.Forget();
  arena.RunFor(absl::Minutes(10));
  EXPECT_NEAR(Ratio(arena.served("large"), arena.served("small")), 2.0, 0.1);
}

TEST(Fairness, WhoFloodsInteractiveGetsNoMoreThanItsShareInTheLongRun) {
  Arena arena(40, 10);
  arena.Add("flood", 1).has[0] = true;
  arena.Add("batch", 1).has[1] = true;
  arena.RunFor(absl::Minutes(10));
  EXPECT_GT(Ratio(arena.served("batch"), arena.served("flood")), 0.9);
  arena.Forget();
  arena.RunFor(absl::Minutes(10));
  EXPECT_NEAR(Ratio(arena.served("batch"), arena.served("flood")), 1.0, 0.05);
}

TEST(Fairness, InteractiveRunsAheadByTheWarpFirst) {
  Arena arena(10, 10);
  arena.Add("batch", 1).has[1] = true;
  arena.RunFor(absl::Minutes(2));
  arena.Forget();
  arena.Add("inter", 1).has[0] = true;
  const Rules rules;
  // Half of the pool is its share; so long it gets nearly all of it.
  arena.RunFor((rules.warp + rules.credit) * 0.45);
  EXPECT_GT(Ratio(arena.served("inter"), arena.served("inter") + arena.served("batch")), 0.6);
}

TEST(Fairness, WhoComesBackAfterAnHourGetsItsShareAndLittleMore) {
  Arena arena(40, 10);
  arena.Add("always", 1).has[1] = true;
  arena.RunFor(absl::Hours(1));
  arena.Forget();
  arena.Add("late", 1).has[1] = true;
  arena.RunFor(absl::Minutes(10));
  const double share = Ratio(arena.served("late"), arena.served("late") + arena.served("always"));
  EXPECT_GT(share, 0.45);
  EXPECT_LT(share, 0.55) << "an hour alone is no debt";
}

TEST(Fairness, BatchOfATenantGetsAFifthWhileItsInteractiveWorkNeverEnds) {
  Arena arena(8, 8);
  auto& both = arena.Add("both", 1);
  both.has = {true, true};
  both.cost = {absl::Seconds(1), absl::Seconds(7)};
  arena.RunFor(absl::Minutes(5));
  arena.Forget();
  arena.RunFor(absl::Minutes(20));
  const double part = Ratio(arena.Served("both", Priority::kBatch), arena.served("both"));
  EXPECT_GT(part, 0.18);
  EXPECT_LT(part, 0.22);
}

// Decision 0016: while others flood, a tenant that waits is served within the warp, the credit and the slack of the
// pool, what runs already, and one attempt of each other tenant.
TEST(Fairness, NobodyStarvesBesideManyTenantsThatFloodInteractive) {
  const Rules rules;
  Arena arena(20, 10);
  for (int i = 0; i < 30; ++i) {
    auto& tenant = arena.Add(absl::StrCat("flood", i), 1 + i % 3);
    tenant.has[0] = true;
    tenant.cost[0] = absl::Milliseconds(200 + 100 * i);
  }
  arena.RunFor(absl::Minutes(5));
  auto& batch = arena.Add("batch", 1);
  batch.has[1] = true;
  batch.cost[1] = absl::Seconds(5);
  arena.Forget();
  const absl::Time since = arena.now();
  while (arena.served("batch") == absl::ZeroDuration() && arena.now() - since < absl::Hours(1)) {
    arena.RunFor(absl::Seconds(1));
  }
  absl::Duration one_of_each;
  for (int i = 0; i < 30; ++i) one_of_each += absl::Milliseconds(200 + 100 * i);
  const absl::Duration bound =
      rules.warp + rules.credit + rules.affinity_slack + one_of_each / 10 + /* its own */ absl::Seconds(10);
  EXPECT_LE(arena.now() - since, bound);
}

TEST(Fairness, ATenantOfAThousandWeightsLeavesTheOthersTheirs) {
  Arena arena(100, 100);
  arena.Add("big", 1000).has[0] = true;
  auto& small = arena.Add("small", 10);
  small.has[1] = true;
  arena.RunFor(absl::Minutes(20));
  EXPECT_NEAR(Ratio(arena.served("small"), arena.served("big")), 0.01, 0.001);
}

}  // namespace
}  // namespace sassay::scheduling
