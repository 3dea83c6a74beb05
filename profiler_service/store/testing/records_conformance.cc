// What every Store must do with attempts, exclusions, provisional timings, holds, incidents and usage.
#include <gmock/gmock.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "profiler_service/store/testing/store_conformance.h"

namespace sassay::store {

using sassay::v1::Event;
using testing::ElementsAre;
using testing::IsEmpty;

// The attempts of these tests end on "g" at now_ + 1 s and began at now_.
sassay::v1::Verdict Correct(uint64_t device_ns = 0) {
  sassay::v1::Verdict verdict = VerdictOf(sassay::v1::VERDICT_STATUS_CORRECT);
  verdict.set_attempt(1);
  if (device_ns > 0) verdict.add_stages()->set_device_ns(device_ns);
  return verdict;
}

sassay::v1::Verdict ProvisionalVerdict() {
  sassay::v1::Verdict verdict = Correct();
  verdict.mutable_timing()->set_status(sassay::v1::Timing::PROVISIONAL);
  return verdict;
}

TEST_P(StoreConformance, AnAttemptIsWrittenDownAsItEnds) {
  const std::string id = Accept("ann", "r1");
  const Lease lost = *Acquire();
  Event stage;
  stage.mutable_stage_finished()->mutable_report()->set_device_ns(5);
  ASSERT_TRUE(Await<Event>([&](Callback<Event> done) { store_->Append(lost, stage, std::move(done)); }).ok());
  ASSERT_TRUE(Return(lost, Ended::kStopped, "f").ok());
  ASSERT_TRUE(FinishOn("g", *Acquire(), Correct(70)).ok());
  Reopen();
  const auto attempts = *store_->AttemptsOf(id);
  ASSERT_EQ(attempts.size(), 2u);
  EXPECT_EQ(attempts[0].gpu, "f");
  EXPECT_EQ(attempts[0].status, sassay::v1::VERDICT_STATUS_UNSPECIFIED);
  EXPECT_EQ(attempts[0].gpu_ns, 5u);
  EXPECT_EQ(attempts[1].attempt, 2u);
  EXPECT_EQ(attempts[1].gpu, "g");
  EXPECT_EQ(attempts[1].seated_at, now_);
  EXPECT_EQ(attempts[1].ended_at, now_ + absl::Seconds(1));
  EXPECT_EQ(attempts[1].gpu_ns, 70u);
  EXPECT_EQ(attempts[1].status, sassay::v1::VERDICT_STATUS_CORRECT);
  EXPECT_FALSE(attempts[1].excluded.has_value());
}

TEST_P(StoreConformance, OnlyWhatOverlapsTheWindowOnItsGpuIsExcluded) {
  const absl::Time ended = now_ + absl::Seconds(1);
  const absl::Duration moment = absl::Nanoseconds(1);
  const struct {
    const char* what;
    BadWindow window;
    bool excluded;
  } kCases[] = {
      {"another GPU", {"h", now_, ended, "i1", ""}, false},
      {"ended as the window began", {"g", ended, ended + absl::Seconds(1), "i2", ""}, false},
      {"ended before an open window", {"g", ended, absl::InfiniteFuture(), "i3", ""}, false},
      {"began as the window ended", {"g", now_ - absl::Seconds(1), now_, "i4", ""}, false},
      {"one moment at its end", {"g", ended - moment, ended, "i5", ""}, true},
      {"one moment at its begin", {"g", now_ - absl::Seconds(1), now_ + moment, "i6", ""}, true},
      {"a window of no length within", {"g", now_ + moment, now_ + moment, "i7", ""}, true},
      {"an open window", {"g", ended - moment, absl::InfiniteFuture(), "i8", ""}, true},
      {"all of time", {"g", absl::UnixEpoch(), absl::InfiniteFuture(), "i9", ""}, true},
  };
  for (const auto& [what, window, excluded] : kCases) {
    const std::string id = Accept("ann", what);
    ASSERT_TRUE(FinishOn("g", *Acquire(), Correct()).ok());
    EXPECT_EQ(store_->AttemptsOn(window.gpu, window.from, window.to)->size(), excluded ? 1u : 0u) << what;
    const auto answer = Exclude(window);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->submission_ids.size(), excluded ? 1u : 0u) << what;
    EXPECT_EQ(store_->Get("ann", id)->state, excluded ? State::kQueued : State::kFinished) << what;
    ASSERT_TRUE(store_->CloseWindows("g", now_).ok());
    if (excluded) {
      ASSERT_TRUE(Cancel("ann", id).ok());
    }
    ASSERT_TRUE(store_->Trim(absl::FromUnixSeconds(1'800'000'000), 100).ok());
  }
}

TEST_P(StoreConformance, AnAttemptDuringWhichTheClockWasSetBackHadItsPlaceAtBothTimes) {
  const std::string ended = Accept("ann", "r1"), ending = Accept("ann", "r2");
  seated_at_ = now_ + absl::Hours(1);
  ASSERT_TRUE(FinishOn("g", *Acquire(), Correct()).ok());
  const absl::Time between = now_ + absl::Minutes(1);
  EXPECT_THAT(Exclude({"g", between, between + absl::Minutes(1), "i", "hot"})->submission_ids, ElementsAre(ended));
  Acquire();
  EXPECT_EQ(FinishOn("g", *Acquire(), Correct())->size(), 2u) << ending;
}

TEST_P(StoreConformance, AnExcludedSubmissionWaitsAgainAndItsStoryGoesOn) {
  const std::string id = Accept("ann", "r1");
  ASSERT_TRUE(FinishOn("g", *Acquire(), Correct()).ok());
  EXPECT_TRUE(store_->Events(id, 1, 1)->front().last());
  const auto answer = *Exclude({"g", now_, now_ + absl::Seconds(1), "i", "hot"});
  EXPECT_THAT(answer.submission_ids, ElementsAre(id));
  ASSERT_EQ(answer.events.size(), 1u);
  const sassay::v1::Excluded& excluded = answer.events[0].excluded();
  EXPECT_EQ(excluded.attempt(), 1u);
  EXPECT_EQ(excluded.exclusion().incident_id(), "i");
  EXPECT_EQ(excluded.exclusion().reason(), "hot");
  EXPECT_TRUE(excluded.rerun());
  EXPECT_FALSE(answer.events[0].last());
  Reopen();
  EXPECT_EQ(store_->AttemptsOf(id)->front().excluded->incident_id(), "i");
  const absl::optional<Lease> again = Acquire();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->submission.id, id);
  EXPECT_EQ(again->submission.attempt, 2u);
  EXPECT_EQ(again->submission.exclusions, 1u);
  ASSERT_TRUE(FinishOn("h", *again, Correct()).ok());
  const auto events = *store_->Events(id, 0, 10);
  ASSERT_EQ(events.size(), 4u);
  for (size_t i = 0; i < 3; ++i) EXPECT_FALSE(events[i].last()) << i;
  EXPECT_TRUE(events[3].has_verdict() && events[3].last());
}

TEST_P(StoreConformance, TheSameIncidentExcludesAnAttemptOnceAndAnotherAddsNothing) {
  const std::string id = Accept("ann", "r1");
  ASSERT_TRUE(FinishOn("g", *Acquire(), Correct()).ok());
  const BadWindow window = {"g", now_, absl::InfiniteFuture(), "i", "hot"};
  EXPECT_EQ(Exclude(window)->events.size(), 1u);
  const auto repeated = *Exclude(window);
  EXPECT_THAT(repeated.events, IsEmpty());
  EXPECT_THAT(repeated.submission_ids, ElementsAre(id)) << "the answer that was lost is given again";
  const auto other = *Exclude({"g", now_, absl::InfiniteFuture(), "j", "hot"});
  EXPECT_THAT(other.events, IsEmpty());
  EXPECT_THAT(other.submission_ids, IsEmpty());
}

TEST_P(StoreConformance, WhatEndsInsideAWindowIsExcludedAsItEnds) {
  const std::string id = Accept("ann", "r1");
  const Lease lease = *Acquire();
  EXPECT_THAT(Exclude({"g", now_, absl::InfiniteFuture(), "i", "hot"})->submission_ids, IsEmpty());
  const auto events = *FinishOn("g", lease, ProvisionalVerdict());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(events[0].has_verdict() && !events[0].last());
  EXPECT_TRUE(events[1].excluded().rerun());
  EXPECT_THAT(*store_->Provisionals(), IsEmpty());
  EXPECT_EQ(store_->Get("ann", id)->state, State::kQueued);
  ASSERT_TRUE(Exclude({"g", now_, now_ + absl::Milliseconds(1), "i", "hot"}).ok());
  seated_at_ = now_ + absl::Milliseconds(1);
  EXPECT_EQ(FinishOn("g", *Acquire(), Correct())->size(), 1u) << "the window was closed before its place";
}

TEST_P(StoreConformance, AnAttemptThatIsGivenUpInsideAWindowCountsAsNothingButAnExclusion) {
  const std::string id = Accept("ann", "r1");
  ASSERT_TRUE(Exclude({"g", now_, absl::InfiniteFuture(), "i", "hot"}).ok());
  for (const Ended ended : {Ended::kExcluded, Ended::kFailed}) {
    const auto event = Return(*Acquire(), ended, "g");
    ASSERT_TRUE(event.ok());
    EXPECT_EQ(event->excluded().exclusion().incident_id(), "i");
  }
  EXPECT_TRUE(Return(*Acquire(), Ended::kStopped, "g")->has_retrying());
  EXPECT_TRUE(Return(*Acquire(), Ended::kExcluded, "h")->has_retrying()) << "no window there";
  const auto submission = *store_->Get("ann", id);
  EXPECT_EQ(submission.exclusions, 2u);
  EXPECT_EQ(submission.failures, 0u);
  EXPECT_EQ(submission.losses, 0u);
}

TEST_P(StoreConformance, ExclusionsAreBoundedAndTheLastOneIsTheLastWord) {
  max_exclusions_ = 1;
  const std::string id = Accept("ann", "r1");
  ASSERT_TRUE(FinishOn("g", *Acquire(), Correct(10)).ok());
  ASSERT_TRUE(Exclude({"g", now_, absl::InfiniteFuture(), "i", "hot"}).ok());
  EXPECT_TRUE(Return(*Acquire(), Ended::kFailed, "g")->has_retrying()) << "trouble of ours, and counted";
  EXPECT_EQ(store_->Get("ann", id)->failures, 1u);
  const auto events = *FinishOn("g", *Acquire(), Correct(20));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_FALSE(events[1].excluded().rerun());
  EXPECT_TRUE(events[1].last());
  EXPECT_EQ(store_->Get("ann", id)->state, State::kFinished);
  EXPECT_TRUE(store_->Events(id, 0, 10)->back().last());
  EXPECT_FALSE(Acquire().has_value());
  EXPECT_EQ(UsageOf("ann").verdicts(), 0u);
  EXPECT_EQ(UsageOf("ann").excluded_gpu_ns(), 30u);
}

TEST_P(StoreConformance, CancelledAndQueuedEndsAreNotExcluded) {
  const std::string cancelled = Accept("ann", "r1");
  const Lease lease = *Acquire();
  ASSERT_TRUE(Cancel("ann", cancelled).ok());
  const BadWindow window = {"g", now_, absl::InfiniteFuture(), "i", "hot"};
  ASSERT_TRUE(Exclude(window).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Return(lease, Ended::kExcluded, "g").status()));
  EXPECT_EQ(FinishOn("g", lease, VerdictOf(sassay::v1::VERDICT_STATUS_CANCELLED))->size(), 1u);
  const std::string overdue = Accept("ann", "r2");
  ASSERT_TRUE(Return(*Acquire(), Ended::kStopped, "g").ok());
  ASSERT_TRUE(Await<Event>([&](Callback<Event> done) {
                store_->FinishQueued(overdue, VerdictOf(sassay::v1::VERDICT_STATUS_INFRA_ERROR), std::move(done));
              }).ok());
  EXPECT_THAT(Exclude(window)->submission_ids, IsEmpty());
}

TEST_P(StoreConformance, OnlyTheAttemptThatTheVerdictComesOfIsLookedAt) {
  const std::string id = Accept("ann", "r1");
  ASSERT_TRUE(Return(*Acquire(), Ended::kFailed, "g").ok());
  ASSERT_TRUE(FinishOn("h", *Acquire(), Correct()).ok());
  EXPECT_THAT(Exclude({"g", now_, absl::InfiniteFuture(), "i", "hot"})->submission_ids, IsEmpty());
  EXPECT_THAT(Exclude({"h", now_, absl::InfiniteFuture(), "j", "hot"})->submission_ids, ElementsAre(id));
}

TEST_P(StoreConformance, WindowsAreOpenUntilTheirEndIsKnown) {
  EXPECT_THAT(*store_->OpenWindows(), IsEmpty());
  ASSERT_TRUE(Exclude({"g", now_, absl::InfiniteFuture(), "i", "hot"}).ok());
  ASSERT_TRUE(Exclude({"h", now_ - absl::Seconds(1), absl::InfiniteFuture(), "j", "lost"}).ok());
  ASSERT_TRUE(Exclude({"h", now_, now_ + absl::Seconds(1), "k", "over"}).ok());
  Reopen();
  const auto open = *store_->OpenWindows();
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(open[0].gpu, "h");
  EXPECT_EQ(open[0].incident_id, "j");
  EXPECT_EQ(open[1].from, now_);
  EXPECT_EQ(open[1].to, absl::InfiniteFuture());
  EXPECT_EQ(open[1].reason, "hot");
  ASSERT_TRUE(Exclude({"h", now_ - absl::Seconds(1), now_, "j", "lost"}).ok());
  ASSERT_TRUE(store_->CloseWindows("g", now_).ok());
  EXPECT_THAT(*store_->OpenWindows(), IsEmpty());
}

TEST_P(StoreConformance, AWaitingRerunCanBeCancelled) {
  const std::string id = Accept("ann", "r1");
  ASSERT_TRUE(FinishOn("g", *Acquire(), Correct(10)).ok());
  ASSERT_TRUE(Exclude({"g", now_, absl::InfiniteFuture(), "i", "hot"}).ok());
  EXPECT_EQ(Cancel("ann", id)->verdict->verdict().status(), sassay::v1::VERDICT_STATUS_CANCELLED);
  EXPECT_THAT(Exclude({"g", now_, absl::InfiniteFuture(), "j", "hot"})->events, IsEmpty());
  EXPECT_EQ(UsageOf("ann").verdicts(), 1u);
  EXPECT_EQ(UsageOf("ann").gpu_ns(), 0u);
}

TEST_P(StoreConformance, AProvisionalTimingIsOpenUntilItIsSettledOnce) {
  const std::string id = Accept("ann", "r1");
  const auto verdict = *FinishOn("g", *Acquire(), ProvisionalVerdict());
  EXPECT_FALSE(verdict[0].last());
  Reopen();
  EXPECT_TRUE(store_->Get("ann", id)->provisional);
  EXPECT_FALSE(store_->Events(id, 0, 10)->back().last());
  const auto open = *store_->Provisionals();
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].id, id);
  EXPECT_EQ(open[0].gpu, "g");
  EXPECT_EQ(open[0].ended_at, now_ + absl::Seconds(1));
  EXPECT_EQ(open[0].seated_at, store_->AttemptsOf(id)->back().seated_at);
  EXPECT_TRUE(absl::IsAborted(SettleTiming(id, 2).status()));
  const auto settled = SettleTiming(id, 1, "silent");
  ASSERT_TRUE(settled.ok());
  EXPECT_EQ(settled->timing_settled().attempt(), 1u);
  EXPECT_EQ(settled->timing_settled().warning(), "silent");
  EXPECT_TRUE(settled->last());
  EXPECT_TRUE(absl::IsAborted(SettleTiming(id, 1).status()));
  EXPECT_FALSE(store_->Get("ann", id)->provisional);
  EXPECT_TRUE(store_->Events(id, 0, 10)->back().last());
}

TEST_P(StoreConformance, AnExclusionAfterSettlingReopensTheTurnAndOneBeforeClosesTheTiming) {
  const std::string late = Accept("ann", "r1"), early = Accept("ann", "r2");
  ASSERT_TRUE(FinishOn("g", *Acquire(), ProvisionalVerdict()).ok());
  ASSERT_TRUE(FinishOn("g", *Acquire(), ProvisionalVerdict()).ok());
  ASSERT_TRUE(SettleTiming(late, 1).ok());
  EXPECT_EQ(Exclude({"g", now_, now_ + absl::Seconds(1), "i", "hot"})->events.size(), 2u);
  EXPECT_TRUE(absl::IsAborted(SettleTiming(early, 1).status()));
  EXPECT_THAT(*store_->Provisionals(), IsEmpty());
  EXPECT_EQ(store_->CountDepths()->queued, 2u);
}

TEST_P(StoreConformance, ExclusionsOfATenantAreListedFromAPlaceOrATimeOn) {
  EXPECT_EQ(*store_->LastExcluded(), 0u);
  const std::string first = Accept("ann", "r1"), bobs = Accept("bob", "r1"), second = Accept("ann", "r2");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(FinishOn("g", *Acquire(), Correct()).ok());
  ASSERT_TRUE(Exclude({"g", now_, absl::InfiniteFuture(), "i", "hot"}).ok());
  const auto anns = *store_->ExcludedSince("ann", absl::UnixEpoch(), 0, 10);
  ASSERT_EQ(anns.size(), 2u);
  EXPECT_EQ(anns[0].event.submission_id(), first);
  EXPECT_EQ(anns[1].event.submission_id(), second);
  EXPECT_EQ(store_->ExcludedSince("ann", absl::UnixEpoch(), anns[0].place, 10)->size(), 1u);
  EXPECT_EQ(store_->ExcludedSince("ann", absl::UnixEpoch(), 0, 1)->size(), 1u);
  EXPECT_THAT(*store_->ExcludedSince("ann", now_ + absl::Seconds(3), 0, 10), IsEmpty());
  EXPECT_EQ(store_->ExcludedSince("bob", absl::UnixEpoch(), 0, 10)->front().event.submission_id(), bobs);
  EXPECT_GE(*store_->LastExcluded(), anns[1].place);
}

TEST_P(StoreConformance, WhatATenantHasUsedIsTheSumOverItsVerdictsAndOutlivesThem) {
  for (const uint64_t device_ns : {1, 20, 300}) {
    Accept("ann", absl::StrCat(device_ns));
    ASSERT_TRUE(FinishOn(device_ns == 20 ? "g" : "h", *Acquire(), Correct(device_ns)).ok());
  }
  ASSERT_TRUE(Exclude({"g", now_, absl::InfiniteFuture(), "i", "hot"}).ok());
  Accept("bob", "r1");
  EXPECT_EQ(UsageOf("ann").verdicts(), 2u);
  EXPECT_EQ(UsageOf("ann").gpu_ns(), 301u);
  EXPECT_EQ(UsageOf("ann").excluded_verdicts(), 1u);
  EXPECT_EQ(UsageOf("ann").excluded_gpu_ns(), 20u);
  EXPECT_EQ(UsageOf("ann").queued(), 1u);
  EXPECT_EQ(*store_->Trim(absl::FromUnixSeconds(1'800'000'000), 100), 2);
  Reopen();
  EXPECT_EQ(UsageOf("ann").gpu_ns(), 301u);
  EXPECT_EQ(store_->Usage("", now_)->size(), 2u);
  EXPECT_THAT(*store_->Usage("nobody", now_), IsEmpty());
}

TEST_P(StoreConformance, NoWordOfANodesMakesWhatATenantHasUsedRunOver) {
  const auto day = static_cast<uint64_t>(absl::ToInt64Nanoseconds(absl::Hours(24)));
  constexpr uint64_t kLie = std::numeric_limits<uint64_t>::max();
  Accept("ann", "lies");
  const Lease lease = *Acquire();
  Event stage;
  stage.mutable_stage_finished()->mutable_report()->set_device_ns(kLie);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Await<Event>([&](Callback<Event> done) { store_->Append(lease, stage, std::move(done)); }).ok());
  }
  ASSERT_TRUE(Return(lease, Ended::kStopped, "f").ok());
  sassay::v1::Verdict verdict = Correct(kLie);
  verdict.add_stages()->set_device_ns(kLie / 2);
  ASSERT_TRUE(FinishOn("g", *Acquire(), verdict).ok());
  Accept("ann", "does not");
  ASSERT_TRUE(FinishOn("g", *Acquire(), Correct(5)).ok());
  EXPECT_EQ(UsageOf("ann").verdicts(), 2u);
  EXPECT_EQ(UsageOf("ann").gpu_ns(), day + 5);
}

TEST_P(StoreConformance, HoldsAreKeptByGpuAndHolder) {
  const auto names = [&] {
    std::vector<std::string> names;
    const std::vector<Hold> holds = *store_->Holds();
    for (const Hold& hold : holds) names.push_back(absl::StrCat(hold.gpu, "/", hold.holder));
    return names;
  };
  const Hold cooling = {"g", "monitor", sassay::v1::GPU_STATE_COOLING, "hot", "i", now_, "watch"};
  ASSERT_TRUE(store_->PlaceHold(cooling).ok());
  ASSERT_TRUE(store_->PlaceHold({"g", "operator", sassay::v1::GPU_STATE_PAUSED, "", "", now_, "root"}).ok());
  ASSERT_TRUE(store_->PlaceHold({"", "operator", sassay::v1::GPU_STATE_PAUSED, "", "", now_, "root"}).ok());
  Reopen();
  EXPECT_THAT(names(), ElementsAre("/operator", "g/monitor", "g/operator"));
  const Hold kept = (*store_->Holds())[1];
  EXPECT_EQ(kept.state, cooling.state);
  EXPECT_EQ(kept.reason, "hot");
  EXPECT_EQ(kept.incident_id, "i");
  EXPECT_EQ(kept.since, now_);
  EXPECT_EQ(kept.actor, "watch");
  ASSERT_TRUE(store_->PlaceHold({"g", "monitor", sassay::v1::GPU_STATE_QUARANTINED, "", "", now_, ""}).ok());
  EXPECT_EQ((*store_->Holds())[1].state, sassay::v1::GPU_STATE_QUARANTINED);
  ASSERT_TRUE(store_->LiftHold("g", "operator").ok());
  ASSERT_TRUE(store_->LiftHold("g", "nobody").ok());
  EXPECT_THAT(names(), ElementsAre("/operator", "g/monitor"));
}

TEST_P(StoreConformance, IncidentsAreKeptRevisionByRevision) {
  EXPECT_EQ(*store_->LastIncident(), 0u);
  const auto record = [&](const std::string& id, uint32_t revision, const std::string& reason, absl::Time to) {
    sassay::v1::Incident incident;
    incident.set_id(id);
    incident.set_revision(revision);
    incident.set_reason(reason);
    if (to != absl::InfiniteFuture()) SetTimestamp(to, *incident.mutable_to());
    EXPECT_TRUE(store_->RecordIncident(incident).ok());
  };
  record("i", 1, "hot", absl::InfiniteFuture());
  record("j", 1, "lost", absl::InfiniteFuture());
  record("i", 2, "hot", now_);
  record("i", 2, "another text", now_);
  Reopen();
  const auto texts = [&](absl::Time from, uint64_t after) {
    std::vector<std::string> texts;
    const std::vector<IncidentRecord> records = *store_->IncidentsSince(from, after, 10);
    for (const IncidentRecord& record : records) {
      texts.push_back(absl::StrCat(record.incident.id(), record.incident.revision(), record.incident.reason()));
    }
    return texts;
  };
  EXPECT_THAT(texts(absl::UnixEpoch(), 0), ElementsAre("i1hot", "j1lost", "i2hot"));
  EXPECT_THAT(texts(now_, 0), ElementsAre("i1hot", "j1lost", "i2hot"));
  EXPECT_THAT(texts(now_ + absl::Nanoseconds(1), 0), ElementsAre("j1lost")) << "i was over before";
  EXPECT_THAT(texts(absl::UnixEpoch(), store_->IncidentsSince(absl::UnixEpoch(), 0, 1)->front().place),
              ElementsAre("j1lost", "i2hot"));
  EXPECT_EQ(*store_->LastIncident(), store_->IncidentsSince(absl::UnixEpoch(), 0, 10)->back().place);
}

TEST_P(StoreConformance, NodesAreKeptByNameAndDroppedByTheirInstanceAlone) {
  EXPECT_THAT(*store_->Nodes(), IsEmpty());
  ASSERT_TRUE(store_->PutNode({"pool/b", "i1", std::string("\0facts", 6), now_, false}).ok());
  ASSERT_TRUE(store_->PutNode({"pool/a", "i2", "", now_, false}).ok());
  ASSERT_TRUE(store_->PutNode({"pool/b", "i3", "new", now_ + absl::Seconds(1), true}).ok());
  Reopen();
  const auto nodes = *store_->Nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].name, "pool/a");
  EXPECT_EQ(nodes[1].instance, "i3");
  EXPECT_EQ(nodes[1].facts, "new");
  EXPECT_EQ(nodes[1].seen, now_ + absl::Seconds(1));
  EXPECT_TRUE(nodes[1].draining);
  ASSERT_TRUE(store_->DropNode("pool/b", "i1").ok());
  EXPECT_EQ(store_->Nodes()->size(), 2u);
  ASSERT_TRUE(store_->DropNode("pool/b", "i3").ok());
  EXPECT_EQ(store_->Nodes()->size(), 1u);
}

}  // namespace sassay::store
