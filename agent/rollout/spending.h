// What the whole run has cost so far, against what it may cost.
#ifndef SASSAY_AGENT_ROLLOUT_SPENDING_H_
#define SASSAY_AGENT_ROLLOUT_SPENDING_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "sassay/v1/trajectory.pb.h"

namespace sassay::agent {

// Adds up answers, those of turns that were taken back included: they were paid for.
//
// A budget is asked about before each question. Answers under way when it runs out may finish, so a run of P answers at
// once can go over by P of them. Threads: safe.
class Spending {
 public:
  // 0: no budget.
  Spending(uint64_t token_budget, double money_budget_usd)
      : token_budget_(token_budget), money_budget_usd_(money_budget_usd) {}

  void Add(const v1::Usage& usage) ABSL_LOCKS_EXCLUDED(mutex_);
  v1::Usage total() const ABSL_LOCKS_EXCLUDED(mutex_);
  // TOKEN_BUDGET or MONEY_BUDGET if it is used up, else UNSPECIFIED.
  v1::TrajectoryEnd Exhausted() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const uint64_t token_budget_;
  const double money_budget_usd_;
  mutable absl::Mutex mutex_;
  v1::Usage total_ ABSL_GUARDED_BY(mutex_);
};

// What counts against a token budget: what is sent and what comes back.
uint64_t TokensOf(const v1::Usage& usage);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_ROLLOUT_SPENDING_H_
