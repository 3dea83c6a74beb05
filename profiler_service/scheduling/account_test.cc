#include "profiler_service/scheduling/account.h"

#include <gtest/gtest.h>

namespace sassay::scheduling {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

TEST(Account, UseCountsHalfAfterOneHalfLifeAndAQuarterAfterTwo) {
  Decayed use;
  use.Add(absl::Seconds(80), kNow, absl::Minutes(10));
  EXPECT_EQ(use.At(kNow, absl::Minutes(10)).gpu_time, absl::Seconds(80));
  EXPECT_EQ(use.At(kNow + absl::Minutes(10), absl::Minutes(10)).gpu_time, absl::Seconds(40));
  EXPECT_EQ(use.At(kNow + absl::Minutes(20), absl::Minutes(10)).gpu_time, absl::Seconds(20));
  EXPECT_DOUBLE_EQ(use.At(kNow + absl::Minutes(20), absl::Minutes(10)).attempts, 0.25);
}

TEST(Account, AClockThatGoesBackForgetsNothing) {
  Decayed use;
  use.Add(absl::Seconds(8), kNow, absl::Minutes(10));
  use.Add(absl::Seconds(8), kNow - absl::Hours(1), absl::Minutes(10));
  EXPECT_EQ(use.gpu_time, absl::Seconds(16));
  EXPECT_EQ(use.as_of, kNow);
}

TEST(Account, AnEstimateGoesFromTheDefaultToTheMeanOfItsClass) {
  Rules rules;
  Account account;
  EXPECT_EQ(EstimateCost(account, Priority::kBatch, rules), rules.default_cost);
  for (int i = 0; i < 99; ++i) account.recent[1].Add(absl::Seconds(12), kNow, rules.half_life);
  EXPECT_EQ(EstimateCost(account, Priority::kBatch, rules), (99 * absl::Seconds(12) + rules.default_cost) / 100);
  EXPECT_EQ(EstimateCost(account, Priority::kInteractive, rules), rules.default_cost);
}

TEST(Account, WhatIsSettledIsWhatWasUsedByWeight) {
  Account account;
  account.weight = 4;
  Charge charge;
  charge.cost = absl::Seconds(8);
  charge.floor = absl::Seconds(100);
  charge.step = absl::Seconds(2);
  account.waiting[1] = 3;
  Apply(charge, Priority::kBatch, account);
  EXPECT_EQ(account.waiting[1], 2u);
  EXPECT_EQ(account.running[1], 1u);
  EXPECT_EQ(account.charged[1], absl::Seconds(8));
  EXPECT_EQ(account.pass, absl::Seconds(102));
  const Settlement settlement = Settle(charge.cost, absl::Seconds(20), Outcome::kRan, account.weight);
  Apply(settlement, Priority::kBatch, kNow, Rules(), account);
  EXPECT_EQ(account.pass, absl::Seconds(105));
  EXPECT_EQ(account.recent[1].gpu_time, absl::Seconds(20));
  EXPECT_EQ(account.running[1], 0u);
  EXPECT_EQ(account.charged[1], absl::ZeroDuration());
}

TEST(Account, WhatEndsFirstIsCheapAndDoesNotMakeTheRestCheap) {
  const Rules rules;
  Account account;
  account.waiting[1] = 1000;
  Charge charge;
  for (int i = 0; i < 100; ++i) {
    charge.cost = EstimateCost(account, Priority::kBatch, rules);
    Apply(charge, Priority::kBatch, account);
  }
  for (int i = 0; i < 28; ++i) {
    Apply(Settle(charge.cost, absl::ZeroDuration(), Outcome::kRan, 1), Priority::kBatch, kNow, rules, account);
  }
  EXPECT_GT(EstimateCost(account, Priority::kBatch, rules), rules.default_cost * 0.7);
}

TEST(Account, WhatWeWastedIsFreeAndACrashIsNot) {
  EXPECT_EQ(Settle(absl::Seconds(8), absl::Seconds(3), Outcome::kWasted, 1).correction, -absl::Seconds(8));
  EXPECT_EQ(Settle(absl::Seconds(8), absl::Seconds(3), Outcome::kCrashed, 1).correction, absl::ZeroDuration());
  EXPECT_EQ(Settle(absl::Seconds(8), absl::Seconds(30), Outcome::kCrashed, 1).correction, absl::Seconds(22));
}

TEST(Account, BatchIsNeverOwedMoreThanTheChargeAllowsNorLessThanNothing) {
  Account account;
  Charge charge;
  charge.batch_credit_most = absl::Seconds(4);
  charge.batch_credit_step = absl::Seconds(9);
  account.waiting[1] = 1;
  Apply(charge, Priority::kBatch, account);
  EXPECT_EQ(account.batch_credit, absl::Seconds(4));
  charge.batch_credit_step = -absl::Seconds(9);
  account.waiting[1] = 1;
  Apply(charge, Priority::kBatch, account);
  EXPECT_EQ(account.batch_credit, absl::ZeroDuration());
}

TEST(Account, TimesOnDiskHoldThousandsOfGpuYears) {
  const VirtualTime long_run = absl::Hours(24) * 365 * 100000;
  EXPECT_EQ(FromDisk(ToDisk(long_run)), long_run);
}

}  // namespace
}  // namespace sassay::scheduling
