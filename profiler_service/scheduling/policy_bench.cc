// What one decision costs, by the number of tenants that have work.
#include <benchmark/benchmark.h>

#include "absl/strings/str_cat.h"
#include "profiler_service/scheduling/policy.h"

namespace sassay::scheduling {
namespace {

void Decisions(benchmark::State& state) {
  const Rules rules;
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  Pool pool;
  pool.gpus = 1000;
  for (int i = 0; i < 125; ++i) pool.living.push_back(absl::StrCat("node", i));
  for (int i = 0; i < state.range(0); ++i) {
    Account account;
    account.tenant = absl::StrCat("tenant", i);
    account.weight = 1 + i % 5;
    account.waiting = {i % 3 == 0 ? 100u : 0u, 1000u};
    account.pass = absl::Seconds(i % 17);
    pool.accounts.push_back(account);
  }
  Node node;
  node.name = "node7";
  node.states = {"gemm", "mha"};
  for (auto _ : state) {
    const auto decision = Decide(pool, node, now, rules, [&](const Account& account) {
      std::vector<Head> heads(2);
      heads[0].priority = Priority::kBatch;
      heads[0].state = "rmsnorm";
      heads[1].priority = account.waiting[0] > 0 ? Priority::kInteractive : Priority::kBatch;
      heads[1].state = "mha";
      heads[1].accepted_at = now;
      return absl::StatusOr<std::vector<Head>>(std::move(heads));
    });
    Account& served = pool.accounts[decision->account];
    Apply(decision->charge, decision->head->priority, served);
    Apply(Settle(decision->charge.cost, absl::Seconds(3), Outcome::kRan, served.weight), decision->head->priority, now,
          rules, served);
    ++served.waiting[static_cast<size_t>(decision->head->priority)];
    pool.virtual_time = decision->virtual_time;
  }
}
BENCHMARK(Decisions)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace sassay::scheduling

BENCHMARK_MAIN();
