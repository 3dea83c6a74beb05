#include "agent/rollout/spending.h"

namespace sassay::agent {
namespace {

// A log may hold any number: a sum that went round would give a budget back.
uint64_t SumOf(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

}  // namespace

void Spending::Add(const v1::Usage& usage) {
  absl::MutexLock lock(&mutex_);
  total_.set_prompt_tokens(SumOf(total_.prompt_tokens(), usage.prompt_tokens()));
  total_.set_cached_prompt_tokens(SumOf(total_.cached_prompt_tokens(), usage.cached_prompt_tokens()));
  total_.set_cache_written_prompt_tokens(
      SumOf(total_.cache_written_prompt_tokens(), usage.cache_written_prompt_tokens()));
  total_.set_completion_tokens(SumOf(total_.completion_tokens(), usage.completion_tokens()));
  total_.set_reasoning_tokens(SumOf(total_.reasoning_tokens(), usage.reasoning_tokens()));
  total_.set_estimated(total_.estimated() || usage.estimated());
  total_.set_cost_usd(total_.cost_usd() + usage.cost_usd());
}

v1::Usage Spending::total() const {
  absl::MutexLock lock(&mutex_);
  return total_;
}

v1::TrajectoryEnd Spending::Exhausted() const {
  absl::MutexLock lock(&mutex_);
  if (token_budget_ > 0 && TokensOf(total_) >= token_budget_) return v1::TRAJECTORY_END_TOKEN_BUDGET;
  if (money_budget_usd_ > 0 && total_.cost_usd() >= money_budget_usd_) return v1::TRAJECTORY_END_MONEY_BUDGET;
  return v1::TRAJECTORY_END_UNSPECIFIED;
}

uint64_t TokensOf(const v1::Usage& usage) { return SumOf(usage.prompt_tokens(), usage.completion_tokens()); }

}  // namespace sassay::agent
