#include "monitor/rules/state/outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sassay::monitor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Time At(double seconds) { return absl::FromUnixSeconds(1000) + absl::Seconds(seconds); }

Decision Make(DecisionKind kind, const std::string& incident = "i", const std::string& gpu = "g") {
  Decision decision;
  decision.kind = kind;
  decision.gpu = gpu;
  decision.incident_id = incident;
  if (kind == DecisionKind::kExclude) decision.from = At(-100);
  return decision;
}

Decision Revision(const std::string& id, uint32_t revision) {
  Decision decision = Make(DecisionKind::kRecordIncident, id);
  decision.incident.set_id(id);
  decision.incident.set_revision(revision);
  return decision;
}

std::vector<DecisionKind> Kinds(const std::vector<Decision>& decisions) {
  std::vector<DecisionKind> kinds;
  for (const Decision& decision : decisions) kinds.push_back(decision.kind);
  return kinds;
}

TEST(Outbox, HandsOutOnceAndAgainAfterAFailureWithAGrowingPause) {
  Outbox outbox;
  outbox.Add(Make(DecisionKind::kPause));
  const auto due = outbox.HandOut(At(0));
  ASSERT_THAT(Kinds(due), ElementsAre(DecisionKind::kPause));
  EXPECT_THAT(outbox.HandOut(At(1)), IsEmpty());
  outbox.Failed(due[0].id, At(1));
  EXPECT_THAT(outbox.HandOut(At(1.2)), IsEmpty());
  ASSERT_EQ(outbox.HandOut(At(1.3)).size(), 1u);
  outbox.Failed(due[0].id, At(2));
  EXPECT_THAT(outbox.HandOut(At(2.4)), IsEmpty());
  ASSERT_EQ(outbox.HandOut(At(2.6)).size(), 1u);
  outbox.Done(due[0].id);
  EXPECT_THAT(outbox.HandOut(At(1000)), IsEmpty());
}

TEST(Outbox, WhatNobodyAnsweredIsHandedOutAgain) {
  Outbox outbox;
  outbox.Add(Make(DecisionKind::kPause));
  outbox.HandOut(At(0));
  EXPECT_THAT(outbox.HandOut(At(90)), IsEmpty());
  EXPECT_EQ(outbox.HandOut(At(91)).size(), 1u);
}

TEST(Outbox, ANewerHoldReplacesAnOlderOne) {
  Outbox outbox;
  outbox.Add(Make(DecisionKind::kPause));
  outbox.Add(Make(DecisionKind::kQuarantine));
  outbox.Add(Make(DecisionKind::kPause, "i", "other"));
  EXPECT_THAT(Kinds(outbox.HandOut(At(0))), ElementsAre(DecisionKind::kQuarantine, DecisionKind::kPause));
}

TEST(Outbox, AHoldThatIsUnderWayIsWaitedFor) {
  Outbox outbox;
  outbox.Add(Make(DecisionKind::kPause));
  const auto pause = outbox.HandOut(At(0));
  outbox.Add(Make(DecisionKind::kResume));
  EXPECT_THAT(outbox.HandOut(At(1)), IsEmpty());
  outbox.Failed(pause[0].id, At(2));
  EXPECT_THAT(Kinds(outbox.HandOut(At(2))), ElementsAre(DecisionKind::kResume));
}

TEST(Outbox, AGpuTakesWorkOnlyWhenItsExclusionsAreKnown) {
  Outbox outbox;
  outbox.Add(Make(DecisionKind::kExclude));
  outbox.Add(Make(DecisionKind::kResume));
  const auto due = outbox.HandOut(At(0));
  ASSERT_THAT(Kinds(due), ElementsAre(DecisionKind::kExclude));
  outbox.Done(due[0].id);
  EXPECT_THAT(Kinds(outbox.HandOut(At(0))), ElementsAre(DecisionKind::kResume));
}

TEST(Outbox, AWindowIsUnknownUntilItsBeginWasHeard) {
  Outbox outbox;
  EXPECT_EQ(outbox.UnknownSince("g"), absl::InfiniteFuture());
  outbox.Add(Make(DecisionKind::kExclude));
  EXPECT_EQ(outbox.UnknownSince("g"), At(-100));
  EXPECT_EQ(outbox.UnknownSince("other"), absl::InfiniteFuture());
  // It closes before anybody heard of it.
  outbox.Add(Make(DecisionKind::kExclude), false);
  EXPECT_EQ(outbox.UnknownSince("g"), At(-100));
  const auto due = outbox.HandOut(At(0));
  ASSERT_EQ(due.size(), 1u);
  outbox.Done(due[0].id);
  EXPECT_EQ(outbox.UnknownSince("g"), absl::InfiniteFuture());
}

TEST(Outbox, AClosedWindowWhoseBeginWasHeardHoldsNothingUp) {
  Outbox outbox;
  outbox.Add(Make(DecisionKind::kExclude));
  outbox.Done(outbox.HandOut(At(0))[0].id);
  outbox.Add(Make(DecisionKind::kExclude), false);
  EXPECT_EQ(outbox.UnknownSince("g"), absl::InfiniteFuture());
}

TEST(Outbox, RevisionsOfAnIncidentGoOneAfterTheOther) {
  Outbox outbox;
  outbox.Add(Revision("a", 1));
  outbox.Add(Revision("a", 2));
  outbox.Add(Revision("b", 1));
  const auto due = outbox.HandOut(At(0));
  ASSERT_EQ(due.size(), 2u);
  EXPECT_EQ(due[0].incident.revision(), 1u);
  EXPECT_EQ(due[1].incident.id(), "b");
  outbox.Done(due[0].id);
  EXPECT_EQ(outbox.HandOut(At(0)).at(0).incident.revision(), 2u);
}

TEST(Outbox, OfTooManyRevisionsTheNewestOfEachIncidentStays) {
  Outbox outbox;
  for (uint32_t revision = 1; revision <= Outbox::kMostRevisions; ++revision) outbox.Add(Revision("a", revision));
  outbox.Add(Revision("b", 1));
  EXPECT_EQ(outbox.size(), 2u);
  const auto due = outbox.HandOut(At(0));
  EXPECT_EQ(due[0].incident.revision(), Outbox::kMostRevisions);
}

TEST(Outbox, ARestoredDecisionKeepsItsIdAndNewOnesAreHigher) {
  Outbox outbox;
  Decision kept = Make(DecisionKind::kPause);
  kept.id = 41;
  outbox.Restore(kept);
  outbox.Add(Make(DecisionKind::kExclude));
  const auto due = outbox.HandOut(At(0));
  EXPECT_EQ(due[0].id, 41u);
  EXPECT_EQ(due[1].id, 42u);
}

TEST(Outbox, DecisionsAreKeptWhole) {
  Decision decision = Make(DecisionKind::kExclude);
  decision.id = 7;
  decision.reason = "hot";
  decision.to = At(5);
  const Decision again = FromProto(ToProto(decision));
  EXPECT_EQ(again.id, 7u);
  EXPECT_EQ(again.kind, DecisionKind::kExclude);
  EXPECT_EQ(again.from, decision.from);
  EXPECT_EQ(again.to, decision.to);
  EXPECT_EQ(FromProto(ToProto(Make(DecisionKind::kExclude))).to, absl::InfiniteFuture());
  EXPECT_EQ(FromProto(ToProto(Make(DecisionKind::kRelease))).kind, DecisionKind::kRelease);
}

}  // namespace
}  // namespace sassay::monitor
