// What every Store must do with verdicts that stand for others.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "common/base/proto_time.h"
#include "profiler_service/store/testing/store_conformance.h"

namespace sassay::store {
namespace {

using sassay::v1::Event;
using sassay::v1::Timing;
using sassay::v1::Verdict;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

absl::optional<Verdict> Copied(const Verdict& earlier, absl::Time now) {
  Verdict copy = earlier;
  copy.set_reused_from(earlier.submission_id());
  copy.set_attempt(0);
  SetTimestamp(now, *copy.mutable_decided_at());
  for (sassay::v1::StageReport& stage : *copy.mutable_stages()) stage.set_cached(true);
  return copy;
}

absl::optional<Verdict> Declined(const Verdict&, absl::Time) { return absl::nullopt; }

Verdict CorrectIn(uint64_t device_ns) {
  Verdict verdict = VerdictOf(sassay::v1::VERDICT_STATUS_CORRECT);
  verdict.set_attempt(1);
  verdict.add_stages()->set_device_ns(device_ns);
  return verdict;
}

}  // namespace

absl::StatusOr<Submitted> StoreConformance::SubmitReusing(const std::string& tenant, const std::string& request_id,
                                                          Reuse reuse, AdmissionLimits limits) {
  NewSubmission submission{absl::StrCat("id-", ++ids_), tenant,           {},    now_ + absl::Minutes(1),
                           now_ + absl::Hours(1),       absl::Minutes(1), limits};
  submission.request.set_request_id(request_id);
  submission.request.set_workload("w");
  submission.reuse = std::move(reuse);
  return Await<Submitted>([&](Callback<Submitted> done) { store_->Submit(submission, std::move(done)); });
}

std::string StoreConformance::Judged(const std::string& tenant, const std::string& request_id, const std::string& key,
                                     Verdict verdict) {
  const auto submitted = SubmitReusing(tenant, request_id, {key, {}});
  EXPECT_TRUE(submitted.ok()) << submitted.status();
  EXPECT_FALSE(submitted->verdict.has_value());
  EXPECT_TRUE(FinishOn("g", *Acquire(), std::move(verdict)).ok());
  return submitted->id;
}

TEST_P(StoreConformance, AVerdictUnderTheSameKeyEndsASubmissionAsItIsAccepted) {
  const std::string first = Judged("ann", "r1", "k", CorrectIn(70));
  const auto second = SubmitReusing("ann", "r2", {"k", Copied});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_TRUE(second->created);
  ASSERT_TRUE(second->verdict.has_value());
  Reopen();
  const auto events = *store_->Events(second->id, 0, 10);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].SerializeAsString(), second->accepted.SerializeAsString());
  EXPECT_EQ(events[1].SerializeAsString(), second->verdict->SerializeAsString());
  EXPECT_TRUE(events[1].last());
  EXPECT_EQ(events[1].sequence(), 2u);
  EXPECT_EQ(events[1].verdict().submission_id(), second->id);
  EXPECT_EQ(events[1].verdict().reused_from(), first);
  EXPECT_EQ(TimeOf(events[1].at()), now_ + absl::Minutes(1));
  EXPECT_EQ(store_->Get("ann", second->id)->state, State::kFinished);
  EXPECT_EQ(store_->CountDepths()->queued, 0u);
  EXPECT_FALSE(Acquire().has_value());
  EXPECT_THAT(*store_->AttemptsOf(second->id), IsEmpty());
  EXPECT_EQ(UsageOf("ann").verdicts(), 2u);
  EXPECT_EQ(UsageOf("ann").gpu_ns(), 70u) << "a copy costs nothing";
}

TEST_P(StoreConformance, OnlyTheSameTenantAndKeyAreReused) {
  Judged("ann", "r1", "k", CorrectIn(1));
  EXPECT_FALSE(SubmitReusing("bob", "r1", {"k", Copied})->verdict.has_value());
  EXPECT_FALSE(SubmitReusing("ann", "r2", {"l", Copied})->verdict.has_value());
  EXPECT_FALSE(SubmitReusing("ann", "r3", {"", Copied})->verdict.has_value());
  EXPECT_FALSE(SubmitReusing("ann", "r4", {"k", {}})->verdict.has_value());
  EXPECT_FALSE(SubmitReusing("ann", "r5", {"k", Declined})->verdict.has_value());
  EXPECT_EQ(store_->CountDepths()->queued, 5u);
}

TEST_P(StoreConformance, WhatWasAskedWithoutAKeyIsNeverReused) {
  Accept("ann", "r1");
  ASSERT_TRUE(Finish(*Acquire(), sassay::v1::VERDICT_STATUS_CORRECT).ok());
  EXPECT_FALSE(SubmitReusing("ann", "r2", {"", Copied})->verdict.has_value());
}

TEST_P(StoreConformance, ACopyTakesNoPlaceAndIsAskedForOnce) {
  Judged("ann", "r1", "k", CorrectIn(1));
  const auto copy = SubmitReusing("ann", "r2", {"k", Copied}, {0, 0});
  ASSERT_TRUE(copy.ok()) << copy.status();
  const auto again = SubmitReusing("ann", "r2", {"k", Copied}, {0, 0});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->id, copy->id);
  EXPECT_TRUE(absl::IsResourceExhausted(SubmitReusing("ann", "r3", {"k", Declined}, {0, 0}).status()));
}

TEST_P(StoreConformance, WhatSaysNothingAboutItsCandidateIsPassedOver) {
  const std::string first = Judged("ann", "r1", "k", CorrectIn(1));
  Judged("ann", "r2", "k", VerdictOf(sassay::v1::VERDICT_STATUS_INFRA_ERROR));
  Judged("ann", "r3", "k", VerdictOf(sassay::v1::VERDICT_STATUS_CANCELLED));
  const auto copy = SubmitReusing("ann", "r4", {"k", Copied});
  ASSERT_TRUE(copy->verdict.has_value());
  EXPECT_EQ(copy->verdict->verdict().reused_from(), first);
}

TEST_P(StoreConformance, VerdictsThatContradictEachOtherAreNotReused) {
  Judged("ann", "r1", "k", VerdictOf(sassay::v1::VERDICT_STATUS_INCORRECT_NUMERICAL));
  Judged("ann", "r2", "k", CorrectIn(1));
  EXPECT_FALSE(SubmitReusing("ann", "r3", {"k", Copied})->verdict.has_value());
}

TEST_P(StoreConformance, ATimingIsReusedOnceItIsFinal) {
  Verdict verdict = CorrectIn(1);
  verdict.mutable_timing()->set_status(Timing::PROVISIONAL);
  const std::string id = Judged("ann", "r1", "k", verdict);
  EXPECT_FALSE(SubmitReusing("ann", "r2", {"k", Copied})->verdict.has_value());
  ASSERT_TRUE(SettleTiming(id, 1, "watched in part").ok());
  const auto copy = SubmitReusing("ann", "r3", {"k", Copied});
  ASSERT_TRUE(copy->verdict.has_value());
  const Timing& timing = copy->verdict->verdict().timing();
  EXPECT_EQ(timing.status(), Timing::MEASURED);
  EXPECT_THAT(timing.warnings(), ElementsAre("watched in part"));
  EXPECT_THAT(*store_->Provisionals(), IsEmpty());
}

TEST_P(StoreConformance, WhatExcludesAVerdictExcludesItsCopiesAndTheyAreRun) {
  const std::string first = Judged("ann", "r1", "k", CorrectIn(70));
  const std::string copy = SubmitReusing("ann", "r2", {"k", Copied})->id;
  const BadWindow window{"g", now_, now_ + absl::Seconds(5), "hot", "it was"};
  const auto excluded = Exclude(window);
  ASSERT_TRUE(excluded.ok()) << excluded.status();
  EXPECT_THAT(excluded->submission_ids, UnorderedElementsAre(first, copy));
  ASSERT_EQ(excluded->events.size(), 2u);
  EXPECT_EQ(excluded->events[1].submission_id(), copy);
  EXPECT_EQ(excluded->events[1].excluded().attempt(), 0u);
  EXPECT_TRUE(excluded->events[1].excluded().rerun());
  EXPECT_EQ(UsageOf("ann").verdicts(), 0u);
  EXPECT_EQ(UsageOf("ann").excluded_verdicts(), 2u);
  EXPECT_EQ(UsageOf("ann").excluded_gpu_ns(), 70u);
  EXPECT_FALSE(SubmitReusing("ann", "r3", {"k", Copied})->verdict.has_value()) << "it does not count";
  EXPECT_THAT(Exclude(window)->events, IsEmpty()) << "each once";

  EXPECT_EQ(Acquire()->submission.id, first);
  const Lease rerun = *Acquire();
  EXPECT_EQ(rerun.submission.id, copy);
  EXPECT_EQ(rerun.submission.attempt, 1u);
  ASSERT_TRUE(FinishOn("h", rerun, CorrectIn(7)).ok());
  EXPECT_THAT(Exclude({"g", now_, now_ + absl::Seconds(6), "hot again", ""})->events, IsEmpty())
      << "the copy's own attempt was elsewhere";
  EXPECT_EQ(UsageOf("ann").gpu_ns(), 7u);
}

TEST_P(StoreConformance, AnExcludedVerdictThatIsNotRunAgainIsNotReused) {
  max_exclusions_ = 0;
  Judged("ann", "r1", "k", CorrectIn(70));
  ASSERT_TRUE(Exclude({"g", now_, now_ + absl::Seconds(5), "hot", ""}).ok());
  EXPECT_FALSE(SubmitReusing("ann", "r2", {"k", Copied})->verdict.has_value());
}

TEST_P(StoreConformance, ACopyOutlivesItsOriginalAndIsNotCopied) {
  Judged("ann", "r1", "k", CorrectIn(1));
  const std::string copy = SubmitReusing("ann", "r2", {"k", Copied})->id;
  EXPECT_EQ(*store_->Trim(now_ + absl::Seconds(30), 10), 1);
  EXPECT_EQ(store_->Events(copy, 0, 10)->size(), 2u);
  EXPECT_FALSE(SubmitReusing("ann", "r3", {"k", Copied})->verdict.has_value());
  EXPECT_EQ(*store_->Trim(now_ + absl::Hours(1), 10), 1);
  EXPECT_THAT(*store_->Events(copy, 0, 10), IsEmpty());
}

TEST_P(StoreConformance, WhatIsAcceptedTogetherWithACopyStandsBesideIt) {
  Judged("ann", "r1", "k", CorrectIn(1));
  constexpr int kMany = 20;
  std::vector<absl::StatusOr<Submitted>> answers(kMany);
  absl::BlockingCounter left(kMany);
  for (int i = 0; i < kMany; ++i) {
    NewSubmission submission{absl::StrCat("many-", i), "ann",     {}, now_, now_ + absl::Hours(1),
                             absl::Minutes(1),         {100, 100}};
    submission.request.set_request_id(submission.id);
    submission.reuse = {i % 2 == 0 ? "k" : "l", Copied};
    store_->Submit(submission, [&answers, &left, i](absl::StatusOr<Submitted> answer) {
      answers[i] = std::move(answer);
      left.DecrementCount();
    });
  }
  left.Wait();
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(answers[i].ok()) << answers[i].status();
    EXPECT_EQ(answers[i]->verdict.has_value(), i % 2 == 0) << i;
  }
  EXPECT_EQ(store_->CountDepths()->queued, 10u);
}

}  // namespace sassay::store
