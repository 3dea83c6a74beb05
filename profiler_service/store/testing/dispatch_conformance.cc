// Who is next, as every Store must answer it; the rules themselves are tested beside scheduling/policy.h.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "profiler_service/store/testing/store_conformance.h"

namespace sassay::store {
using sassay::v1::PRIORITY_BATCH;
using sassay::v1::PRIORITY_INTERACTIVE;

std::string StoreConformance::AcceptWith(const std::string& tenant, const std::string& request_id, const Wish& wish) {
  NewSubmission submission{absl::StrCat("id-", ++ids_),
                           tenant,
                           {},
                           now_ + wish.later,
                           now_ + absl::Hours(1),
                           absl::Minutes(1),
                           {100000, 100000},
                           wish.arch};
  submission.request.set_request_id(request_id);
  submission.request.set_priority(wish.priority);
  submission.request.set_gpu_model(wish.model);
  submission.request.set_workload(wish.workload);
  const auto submitted =
      Await<Submitted>([&](Callback<Submitted> done) { store_->Submit(submission, std::move(done)); });
  EXPECT_TRUE(submitted.ok()) << submitted.status();
  return submission.id;
}

absl::optional<Lease> StoreConformance::AcquireAs(const Asker& asker) {
  auto lease = Await<absl::optional<Lease>>([&](Callback<absl::optional<Lease>> done) {
    store_->Acquire(asker, now_ + absl::Minutes(1), now_ + absl::Minutes(2), std::move(done));
  });
  EXPECT_TRUE(lease.ok()) << lease.status();
  return lease.ok() ? *lease : absl::nullopt;
}

std::string StoreConformance::NextFor(const Asker& asker) {
  const absl::optional<Lease> lease = AcquireAs(asker);
  return lease.has_value() ? lease->submission.request.request_id() : "none";
}

void StoreConformance::FinishAfter(const Lease& lease, absl::Duration gpu_time) {
  sassay::v1::Verdict verdict = VerdictOf(sassay::v1::VERDICT_STATUS_CORRECT);
  verdict.add_stages()->set_device_ns(static_cast<uint64_t>(absl::ToInt64Nanoseconds(gpu_time)));
  EXPECT_TRUE(FinishOn("", lease, verdict).ok());
}

TEST_P(StoreConformance, InteractiveGoesBeforeBatchOfEverybody) {
  AcceptWith("ann", "a-batch", {PRIORITY_BATCH});
  AcceptWith("bob", "b-batch", {PRIORITY_BATCH});
  AcceptWith("bob", "b-inter", {PRIORITY_INTERACTIVE});
  EXPECT_EQ(NextFor("me"), "b-inter");
}

TEST_P(StoreConformance, ALeaseIsFoundByWhatNamesItAsLongAsItIsHeld) {
  const std::string id = Accept("ann", "r1");
  Accept("ann", "r2");
  Asker asker("me");
  asker.node = "elsewhere";
  const Lease lease = *AcquireAs(asker);
  const absl::StatusOr<Submission> held = store_->Leased(lease);
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->id, id);
  EXPECT_EQ(held->tenant, "ann");
  EXPECT_EQ(held->request.request_id(), "r1");
  for (const char* prefix : {"me", "m", ""}) {
    const auto found = store_->LeasesOf(prefix);
    ASSERT_TRUE(found.ok() && found->size() == 1) << found.status();
    EXPECT_EQ(found->front().submission.id, id);
    EXPECT_EQ(found->front().owner, "me");
    EXPECT_EQ(found->front().epoch, lease.epoch);
    EXPECT_EQ(found->front().expires_at, lease.expires_at);
  }
  for (const char* prefix : {"l", "n", "mf", "md", "me0", "ME"})
    EXPECT_TRUE(store_->LeasesOf(prefix)->empty()) << prefix;
  Lease another = lease;
  another.epoch += 1;
  EXPECT_TRUE(absl::IsAborted(store_->Leased(another).status()));
  another = lease;
  another.owner = "you";
  EXPECT_TRUE(absl::IsAborted(store_->Leased(another).status()));
  ASSERT_TRUE(Finish(lease, sassay::v1::VERDICT_STATUS_CORRECT).ok());
  EXPECT_TRUE(absl::IsAborted(store_->Leased(lease).status()));
  EXPECT_TRUE(store_->LeasesOf("me")->empty());
}

TEST_P(StoreConformance, GpuTimeGoesByWeightAndIsRemembered) {
  ASSERT_TRUE(store_->SetWeight("bob", 3).ok());
  for (int i = 0; i < 400; ++i) {
    AcceptWith("ann", absl::StrCat("a", i), {});
    AcceptWith("bob", absl::StrCat("b", i), {});
  }
  std::map<std::string, absl::Duration> used;
  for (int i = 0; i < 320; ++i) {
    if (i == 160) Reopen();
    const absl::optional<Lease> lease = AcquireAs("me");
    ASSERT_TRUE(lease.has_value());
    // Whatever an attempt costs: time is shared, not attempts.
    const absl::Duration cost = lease->submission.tenant == "ann" ? absl::Seconds(1) : absl::Seconds(4);
    used[lease->submission.tenant] += cost;
    FinishAfter(*lease, cost);
  }
  EXPECT_NEAR(absl::FDivDuration(used["bob"], used["ann"]), 3.0, 0.5);
}

TEST_P(StoreConformance, BatchOfATenantGetsItsPartBesideItsInteractiveWork) {
  for (int i = 0; i < 200; ++i) {
    AcceptWith("ann", absl::StrCat("i", i), {PRIORITY_INTERACTIVE});
    AcceptWith("ann", absl::StrCat("b", i), {PRIORITY_BATCH});
  }
  int batch = 0;
  for (int i = 0; i < 100; ++i) {
    const absl::optional<Lease> lease = AcquireAs("me");
    ASSERT_TRUE(lease.has_value());
    batch += lease->submission.request.priority() == PRIORITY_BATCH;
    FinishAfter(*lease, absl::Seconds(5));
  }
  EXPECT_GE(batch, 17);
  EXPECT_LE(batch, 23);
}

TEST_P(StoreConformance, OnlyWhatTheAskerCanRunIsHandedOut) {
  AcceptWith("ann", "blackwell", {PRIORITY_BATCH, "sm_100a"});
  AcceptWith("ann", "h100", {PRIORITY_BATCH, "sm_90a", "NVIDIA H100"});
  Asker node("me");
  node.pools = {{"sm_90a", 8, {"n1"}}};
  node.models = {"NVIDIA H200"};
  EXPECT_EQ(NextFor(node), "none");
  node.models = {"NVIDIA H200", "NVIDIA H100"};
  EXPECT_EQ(NextFor(node), "h100");
  node.pools = {{"sm_90a", 8, {"n1"}}, {"sm_100a", 8, {"n1"}}};
  EXPECT_EQ(NextFor(node), "blackwell");
}

TEST_P(StoreConformance, ANodeGetsWhatItHoldsTheStateOf) {
  AcceptWith("ann", "cold", {PRIORITY_BATCH, "", "", "gemm"});
  AcceptWith("ann", "warm", {PRIORITY_BATCH, "", "", "mha", absl::Seconds(5)});
  Asker node("me");
  node.states = {"mha"};
  EXPECT_EQ(NextFor(node), "warm");
  EXPECT_EQ(NextFor(node), "cold");
}

TEST_P(StoreConformance, WhatKillsNodesGoesToThreeOfThemAndNotOn) {
  AcceptWith("ann", "poison", {});
  std::vector<std::string> nodes = {"n1", "n2", "n3", "n4", "n5"};
  std::vector<std::string> killed;
  for (int round = 0; round < 8; ++round) {
    for (const std::string& name : nodes) {
      Asker node("me");
      node.node = name;
      node.pools = {{"", 8, nodes}};
      const absl::optional<Lease> lease = AcquireAs(node);
      if (!lease.has_value()) continue;
      killed.push_back(name);
      ASSERT_TRUE(Return(*lease, Ended::kCrashed).ok());
    }
  }
  ASSERT_GT(killed.size(), 6u) << "it goes on: losses in a row end it, and the queue counts them";
  EXPECT_EQ(std::set<std::string>(killed.begin(), killed.end()).size(), 3u);
}

TEST_P(StoreConformance, WhatWasKilledFromOutsideIsNoSuspect) {
  AcceptWith("ann", "r1", {});
  Asker node("me");
  node.pools = {{"", 8, {"local", "other"}}};
  ASSERT_TRUE(Return(*AcquireAs(node), Ended::kKilled).ok());
  EXPECT_EQ(NextFor(node), "r1");
}

TEST_P(StoreConformance, WhatWasWastedCostsNothingAndACrashDoes) {
  for (int i = 0; i < 9; ++i) {
    AcceptWith("ann", absl::StrCat("a", i), {});
    AcceptWith("bob", absl::StrCat("b", i), {});
  }
  // Ann's turn, stopped by us: it is still hers.
  ASSERT_TRUE(Return(*AcquireAs("me"), Ended::kStopped).ok());
  absl::optional<Lease> lease = AcquireAs("me");
  ASSERT_TRUE(lease.has_value());
  EXPECT_EQ(lease->submission.tenant, "ann");
  ASSERT_TRUE(Return(*lease, Ended::kCrashed).ok());
  EXPECT_EQ(AcquireAs("me")->submission.tenant, "bob");
}

TEST_P(StoreConformance, AWeightHoldsForATenantThatNobodyHasSeen) {
  ASSERT_TRUE(store_->SetWeight("nobody yet", 7).ok());
  AcceptWith("nobody yet", "r1", {});
  EXPECT_EQ(UsageOf("nobody yet").weight(), 7u);
  AcceptWith("ann", "r2", {});
  EXPECT_EQ(UsageOf("ann").weight(), 1u);
}

}  // namespace sassay::store
