#include "profiler_service/scheduling/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace sassay::scheduling {
namespace {

const absl::Time kNow = absl::UnixEpoch() + absl::Hours(1);

Head MakeHead(const std::string& id, Priority priority, absl::Duration age = absl::Seconds(1)) {
  Head head;
  head.id = id;
  head.priority = priority;
  head.accepted_at = kNow - age;
  return head;
}

// One node and what waits for it.
class Policy : public ::testing::Test {
 protected:
  Policy() {
    node_.name = "n1";
    node_.places = 4;
    node_.models = {"NVIDIA H200"};
    pool_.gpus = 8;
    pool_.living = {"n1", "n2", "n3", "n4"};
  }

  Account& Tenant(const std::string& name, std::vector<Head> heads, VirtualTime pass = {}) {
    Account account;
    account.tenant = name;
    account.pass = pass;
    for (const Head& head : heads) ++account.waiting[static_cast<size_t>(head.priority)];
    heads_[name] = std::move(heads);
    pool_.accounts.push_back(account);
    return pool_.accounts.back();
  }

  Decision Ask() {
    reads_.clear();
    const auto decision = Decide(pool_, node_, kNow, rules_, [this](const Account& account) {
      reads_.push_back(account.tenant);
      return absl::StatusOr<std::vector<Head>>(heads_[account.tenant]);
    });
    EXPECT_TRUE(decision.ok());
    return *decision;
  }
  std::string Next() {
    const Decision decision = Ask();
    return decision.head.has_value() ? decision.head->id : "none";
  }

  Rules rules_;
  Pool pool_;
  Node node_;
  std::map<std::string, std::vector<Head>> heads_;
  std::vector<std::string> reads_;
};

TEST_F(Policy, NothingWaits) {
  EXPECT_EQ(Ask().why, Why::kNothingWaits);
  Tenant("idle", {});
  EXPECT_EQ(Ask().why, Why::kNothingWaits);
}

TEST_F(Policy, WhoHasHadLessByWeightIsNextAndNobodyElseIsRead) {
  Tenant("much", {MakeHead("m", Priority::kBatch)}, absl::Seconds(50));
  Tenant("little", {MakeHead("l", Priority::kBatch)}, absl::Seconds(40));
  EXPECT_EQ(Next(), "l");
  EXPECT_THAT(reads_, ::testing::ElementsAre("little"));
}

TEST_F(Policy, TheOldestOfATenantIsFirst) {
  Tenant("t",
         {MakeHead("young", Priority::kBatch, absl::Seconds(1)), MakeHead("old", Priority::kBatch, absl::Hours(1))});
  EXPECT_EQ(Next(), "old");
}

TEST_F(Policy, InteractiveGoesBeforeBatchOfTheSameTenantAndOfOthers) {
  Tenant("a", {MakeHead("a-batch", Priority::kBatch, absl::Hours(2)), MakeHead("a-inter", Priority::kInteractive)},
         absl::Seconds(30));
  Tenant("b", {MakeHead("b-batch", Priority::kBatch, absl::Hours(3))}, absl::Seconds(28));
  EXPECT_EQ(Next(), "a-inter");
}

TEST_F(Policy, InteractiveOfATenantTooFarAheadWaitsForOthersBatch) {
  pool_.virtual_time = absl::Seconds(1000);
  // Eight GPUs and two tenants: the warp is four times its time of the pool.
  const VirtualTime warp = 4 * rules_.warp;
  Account& ahead =
      Tenant("ahead", {MakeHead("inter", Priority::kInteractive)}, pool_.virtual_time + warp + absl::Seconds(1));
  Tenant("other", {MakeHead("batch", Priority::kBatch)}, pool_.virtual_time);
  EXPECT_EQ(Next(), "batch");
  pool_.accounts[0].pass = pool_.virtual_time + warp - absl::Seconds(1);
  EXPECT_EQ(Next(), "inter");
  (void)ahead;
}

TEST_F(Policy, InteractiveWorkThatTheNodeCannotRunLendsNothingToBatch) {
  Head other_model = MakeHead("inter", Priority::kInteractive);
  other_model.model = "NVIDIA B200";
  Tenant("a", {other_model, MakeHead("a-batch", Priority::kBatch)}, absl::Seconds(30));
  Tenant("b", {MakeHead("b-batch", Priority::kBatch)}, absl::Seconds(28));
  EXPECT_EQ(Next(), "b-batch");
}

TEST_F(Policy, BatchThatIsOwedItsPartGoesBeforeInteractiveOfItsTenant) {
  Account& account =
      Tenant("t", {MakeHead("batch", Priority::kBatch), MakeHead("inter", Priority::kInteractive, absl::Hours(1))});
  account.batch_credit = rules_.default_cost;
  EXPECT_EQ(Next(), "batch");
  EXPECT_EQ(Ask().charge.batch_credit_step, -rules_.default_cost);
}

TEST_F(Policy, WhoWasIdleClaimsNoMoreThanTheCreditOfThePast) {
  pool_.virtual_time = absl::Hours(5);
  Tenant("idle", {MakeHead("i", Priority::kBatch)});
  Tenant("busy", {MakeHead("b", Priority::kBatch)}, absl::Hours(5));
  const Decision decision = Ask();
  EXPECT_EQ(decision.head->id, "i");
  EXPECT_EQ(decision.charge.floor, absl::Hours(5) - 4 * rules_.credit);
  Apply(decision.charge, Priority::kBatch, pool_.accounts[0]);
  EXPECT_GT(pool_.accounts[0].pass, absl::Hours(5) - 4 * rules_.credit);
}

TEST_F(Policy, VirtualTimeNeverGoesBack) {
  pool_.virtual_time = absl::Hours(5);
  Tenant("idle", {MakeHead("i", Priority::kInteractive)});
  EXPECT_EQ(Ask().virtual_time, absl::Hours(5));
  pool_.accounts[0].pass = absl::Hours(6);
  EXPECT_GT(Ask().virtual_time, absl::Hours(5));
}

TEST_F(Policy, ANodeGetsWhatItHoldsTheStateOf) {
  node_.states = {"gemm", "mha"};
  Head cold = MakeHead("cold", Priority::kBatch, absl::Seconds(20));
  cold.state = "other";
  Head warm = MakeHead("warm", Priority::kBatch, absl::Seconds(1));
  warm.state = "mha";
  Tenant("t", {cold, warm});
  const Decision decision = Ask();
  EXPECT_EQ(decision.head->id, "warm");
  EXPECT_TRUE(decision.affine);
}

TEST_F(Policy, NobodyIsOvertakenByWhoCameMuchLaterForTheSakeOfAState) {
  node_.states = {"mha"};
  Head warm = MakeHead("warm", Priority::kBatch, absl::Seconds(1));
  warm.state = "mha";
  Tenant("t", {MakeHead("cold", Priority::kBatch, rules_.affinity_window + absl::Seconds(2)), warm});
  EXPECT_EQ(Next(), "cold");
}

TEST_F(Policy, AnotherTenantsWarmWorkGoesFirstWithinTheSlackAndNoFurther) {
  node_.states = {"mha"};
  Head warm = MakeHead("warm", Priority::kBatch);
  warm.state = "mha";
  const VirtualTime slack = 4 * rules_.affinity_slack;
  Tenant("first", {MakeHead("cold", Priority::kBatch)}, absl::Hours(1));
  Tenant("second", {warm}, absl::Hours(1) + slack);
  const Decision decision = Ask();
  EXPECT_EQ(decision.head->id, "warm");
  EXPECT_EQ(decision.account, 1u);
  EXPECT_EQ(decision.virtual_time, absl::Hours(1)) << "time is the one whose turn it was";
  pool_.accounts[1].pass += absl::Seconds(1);
  EXPECT_EQ(Next(), "cold");
}

TEST_F(Policy, AModelThatTheNodeLacksIsPassedOverAndSaidSo) {
  Head head = MakeHead("b200", Priority::kBatch);
  head.model = "NVIDIA B200";
  Tenant("a", {head});
  EXPECT_EQ(Ask().why, Why::kModel);
  Tenant("b", {MakeHead("any", Priority::kBatch)}, absl::Hours(1));
  EXPECT_EQ(Next(), "any");
  heads_["a"][0].model = "NVIDIA H200";
  EXPECT_EQ(Next(), "b200");
}

TEST_F(Policy, ANodeThatIsDrainedOrFullGetsNothing) {
  Tenant("a", {MakeHead("h", Priority::kInteractive)});
  node_.draining = true;
  EXPECT_EQ(Ask().why, Why::kDraining);
  node_.draining = false;
  node_.places = 0;
  EXPECT_EQ(Ask().why, Why::kNoPlace);
}

TEST_F(Policy, WhatWaitedPastItsDeadlineIsNotHandedOut) {
  Head late = MakeHead("late", Priority::kInteractive);
  late.queue_deadline = kNow;
  Tenant("a", {late});
  EXPECT_EQ(Ask().why, Why::kDeadlinePassed);
}

TEST_F(Policy, WhatWasLostOnANodeGoesElsewhereWhileThereIsAnother) {
  Head lost = MakeHead("lost", Priority::kInteractive);
  lost.lost_on = {"n1"};
  Tenant("a", {lost});
  EXPECT_EQ(Ask().why, Why::kLostHere);
  node_.name = "n2";
  EXPECT_EQ(Next(), "lost");
  node_.name = "n1";
  pool_.living = {"n1"};
  EXPECT_EQ(Next(), "lost") << "nobody else is there";
}

TEST_F(Policy, ANodeRunsOneThatWasLostBeforeAtATime) {
  Head lost = MakeHead("lost", Priority::kInteractive);
  lost.lost_on = {"n2"};
  Tenant("a", {lost});
  node_.suspects = 1;
  EXPECT_EQ(Ask().why, Why::kSuspectIsRunning);
  Tenant("b", {MakeHead("innocent", Priority::kBatch)});
  EXPECT_EQ(Next(), "innocent");
  pool_.living = {"n1"};
  EXPECT_EQ(Next(), "lost") << "nobody else could take it";
}

TEST_F(Policy, WhatKilledThreeNodesGoesBackToThoseAndToNoFourth) {
  Head poison = MakeHead("poison", Priority::kInteractive);
  poison.lost_on = {"n1", "n2", "n3"};
  Tenant("a", {poison});
  node_.name = "n4";
  EXPECT_EQ(Ask().why, Why::kLostOften);
  node_.name = "n2";
  EXPECT_EQ(Next(), "poison");
  // Where none of them came back it may not wait for ever; max_losses ends it.
  pool_.living = {"n4", "n5"};
  node_.name = "n4";
  EXPECT_EQ(Next(), "poison");
}

TEST_F(Policy, EveryRefusalIsExplained) {
  for (int why = 0; why <= static_cast<int>(Why::kSuspectIsRunning); ++why) {
    EXPECT_FALSE(Explain(static_cast<Why>(why)).empty()) << why;
  }
}

TEST_F(Policy, AnErrorOfTheReaderIsTheAnswer) {
  Tenant("a", {MakeHead("h", Priority::kInteractive)});
  const auto decision = Decide(pool_, node_, kNow, rules_, [](const Account&) {
    return absl::StatusOr<std::vector<Head>>(absl::UnavailableError("disk"));
  });
  EXPECT_TRUE(absl::IsUnavailable(decision.status()));
}

}  // namespace
}  // namespace sassay::scheduling
