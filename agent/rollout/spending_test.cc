#include "agent/rollout/spending.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace sassay::agent {
namespace {

v1::Usage UsageOf(uint64_t prompt_tokens, uint64_t completion_tokens, double cost_usd) {
  v1::Usage usage;
  usage.set_prompt_tokens(prompt_tokens);
  usage.set_completion_tokens(completion_tokens);
  usage.set_cost_usd(cost_usd);
  return usage;
}

TEST(SpendingTest, ABudgetIsUsedUpWhenItIsReached) {
  Spending tokens(100, 0), money(0, 1.5);
  for (Spending* spending : {&tokens, &money}) spending->Add(UsageOf(60, 39, 1.25));
  EXPECT_EQ(tokens.Exhausted(), v1::TRAJECTORY_END_UNSPECIFIED);
  EXPECT_EQ(money.Exhausted(), v1::TRAJECTORY_END_UNSPECIFIED);
  for (Spending* spending : {&tokens, &money}) spending->Add(UsageOf(1, 0, 0.25));
  EXPECT_EQ(tokens.Exhausted(), v1::TRAJECTORY_END_TOKEN_BUDGET);
  EXPECT_EQ(money.Exhausted(), v1::TRAJECTORY_END_MONEY_BUDGET);
}

TEST(SpendingTest, NoBudgetIsNeverUsedUp) {
  Spending spending(0, 0);
  spending.Add(UsageOf(1'000'000'000, 1'000'000'000, 1e6));
  EXPECT_EQ(spending.Exhausted(), v1::TRAJECTORY_END_UNSPECIFIED);
}

TEST(SpendingTest, SumsDoNotGoRound) {
  Spending spending(1'000'000, 0);
  spending.Add(UsageOf(UINT64_MAX - 5, UINT64_MAX, 0));
  spending.Add(UsageOf(10, 10, 0));
  EXPECT_EQ(spending.total().prompt_tokens(), UINT64_MAX);
  EXPECT_EQ(spending.total().completion_tokens(), UINT64_MAX);
  EXPECT_EQ(TokensOf(spending.total()), UINT64_MAX);
  EXPECT_EQ(spending.Exhausted(), v1::TRAJECTORY_END_TOKEN_BUDGET);
}

}  // namespace
}  // namespace sassay::agent
