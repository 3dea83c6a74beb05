#include "profiler_service/store/testing/store_conformance.h"

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"

namespace sassay::store {

using sassay::v1::Event;
using testing::ElementsAre;
using testing::HasSubstr;

sassay::v1::Verdict VerdictOf(sassay::v1::VerdictStatus status) {
  sassay::v1::Verdict verdict;
  verdict.set_status(status);
  verdict.mutable_decided_at()->set_seconds(1'700'000'001);
  return verdict;
}

absl::StatusOr<Submitted> StoreConformance::Submit(const std::string& tenant, const std::string& request_id,
                                                   const std::string& workload, AdmissionLimits limits) {
  NewSubmission submission{absl::StrCat("id-", ++ids_), tenant,           {},    now_,
                           now_ + absl::Hours(1),       absl::Minutes(1), limits};
  submission.request.set_request_id(request_id);
  submission.request.set_workload(workload);
  return Await<Submitted>([&](Callback<Submitted> done) { store_->Submit(submission, std::move(done)); });
}

std::string StoreConformance::Accept(const std::string& tenant, const std::string& request_id) {
  const absl::StatusOr<Submitted> submitted = Submit(tenant, request_id);
  EXPECT_TRUE(submitted.ok()) << submitted.status();
  return submitted.ok() ? submitted->id : "";
}

absl::optional<Lease> StoreConformance::Acquire(const std::string& owner) {
  auto lease = Await<absl::optional<Lease>>([&](Callback<absl::optional<Lease>> done) {
    store_->Acquire(owner, now_, now_ + absl::Seconds(30), std::move(done));
  });
  EXPECT_TRUE(lease.ok()) << lease.status();
  return lease.ok() ? *lease : absl::nullopt;
}

absl::StatusOr<Event> StoreConformance::Append(const Lease& lease) {
  Event event;
  event.mutable_stage_started()->set_stage(sassay::v1::STAGE_EVALUATE);
  return Await<Event>([&](Callback<Event> done) { store_->Append(lease, event, std::move(done)); });
}

absl::StatusOr<Event> StoreConformance::Finish(const Lease& lease, sassay::v1::VerdictStatus status) {
  auto events = FinishOn("", lease, VerdictOf(status));
  if (!events.ok()) return events.status();
  return events->front();
}

absl::StatusOr<std::vector<Event>> StoreConformance::FinishOn(const std::string& gpu, const Lease& lease,
                                                              sassay::v1::Verdict verdict) {
  return Await<std::vector<Event>>([&](Callback<std::vector<Event>> done) {
    store_->Finish(lease, verdict, {gpu, seated_at_, max_exclusions_}, std::move(done));
  });
}

absl::StatusOr<Event> StoreConformance::Return(const Lease& lease, Ended ended, const std::string& gpu) {
  return Await<Event>([&](Callback<Event> done) {
    store_->Return(lease, "why", ended, {gpu, seated_at_, max_exclusions_}, now_ + absl::Seconds(1), std::move(done));
  });
}

absl::StatusOr<Exclusions> StoreConformance::Exclude(const BadWindow& window) {
  return Await<Exclusions>([&](Callback<Exclusions> done) {
    store_->Exclude(window, max_exclusions_, now_ + absl::Seconds(2), std::move(done));
  });
}

absl::StatusOr<Event> StoreConformance::SettleTiming(const std::string& id, uint32_t attempt,
                                                     const std::string& warning) {
  return Await<Event>([&](Callback<Event> done) {
    store_->SettleTiming(id, attempt, warning, now_ + absl::Seconds(2), std::move(done));
  });
}

sassay::v1::TenantUsage StoreConformance::UsageOf(const std::string& tenant) {
  const auto usage = store_->Usage(tenant, now_);
  EXPECT_TRUE(usage.ok()) << usage.status();
  return usage.ok() && usage->size() == 1 ? usage->front() : sassay::v1::TenantUsage();
}

absl::StatusOr<Cancellation> StoreConformance::Cancel(const std::string& tenant, const std::string& id) {
  return Await<Cancellation>([&](Callback<Cancellation> done) {
    store_->Cancel(tenant, id, VerdictOf(sassay::v1::VERDICT_STATUS_CANCELLED), std::move(done));
  });
}

TEST_P(StoreConformance, WhatWasAcceptedSurvivesReopening) {
  const std::string id = Accept("ann", "r1");
  Reopen();
  const auto submission = store_->Get("ann", id);
  ASSERT_TRUE(submission.ok()) << submission.status();
  EXPECT_EQ(submission->state, State::kQueued);
  EXPECT_EQ(submission->request.request_id(), "r1");
  EXPECT_EQ(submission->queue_deadline, now_ + absl::Hours(1));
  EXPECT_EQ(submission->run_deadline, absl::Minutes(1));
}

TEST_P(StoreConformance, TheSameRequestAgainIsTheSameSubmission) {
  const auto first = Submit("ann", "r1");
  const auto second = Submit("ann", "r1");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_TRUE(first->created);
  EXPECT_FALSE(second->created);
  EXPECT_EQ(first->id, second->id);
  EXPECT_EQ(first->accepted.SerializeAsString(), second->accepted.SerializeAsString());
}

TEST_P(StoreConformance, AnotherContentWithTheSameRequestIdIsRefused) {
  Accept("ann", "r1");
  EXPECT_TRUE(absl::IsAlreadyExists(Submit("ann", "r1", "other").status()));
}

// Whoever posts without waiting is committed together with others.
TEST_P(StoreConformance, WhatIsAskedTogetherIsAnsweredAsIfItCameAlone) {
  struct Asked {
    const char *tenant, *request_id, *workload;
    absl::StatusCode code;
    size_t same_as;  // whose submission it is
  };
  constexpr AdmissionLimits kLimits = {3, 4};
  using absl::StatusCode;
  const std::vector<Asked> asked = {
      {"ann", "r1", "w", StatusCode::kOk, 0},
      {"ann", "r1", "w", StatusCode::kOk, 0},
      {"ann", "r1", "other", StatusCode::kAlreadyExists, 0},
      {"bob", "r1", "w", StatusCode::kOk, 3},
      {"ann", "r2", "w", StatusCode::kOk, 4},
      {"ann", "r3", "w", StatusCode::kOk, 5},
      {"ann", "r4", "w", StatusCode::kResourceExhausted, 0},
      {"ann", "r2", "w", StatusCode::kOk, 4},
      {"bob", "r2", "w", StatusCode::kResourceExhausted, 0},
  };
  std::vector<absl::StatusOr<Submitted>> answers(asked.size());
  absl::BlockingCounter left(static_cast<int>(asked.size()));
  for (size_t i = 0; i < asked.size(); ++i) {
    NewSubmission submission{absl::StrCat("id-", i), asked[i].tenant,  {},     now_,
                             now_ + absl::Hours(1),  absl::Minutes(1), kLimits};
    submission.request.set_request_id(asked[i].request_id);
    submission.request.set_workload(asked[i].workload);
    store_->Submit(submission, [&answers, &left, i](absl::StatusOr<Submitted> answer) {
      answers[i] = std::move(answer);
      left.DecrementCount();
    });
  }
  left.Wait();
  for (size_t i = 0; i < asked.size(); ++i) {
    ASSERT_EQ(answers[i].status().code(), asked[i].code) << i << ": " << answers[i].status();
    if (!answers[i].ok()) continue;
    EXPECT_EQ(answers[i]->id, absl::StrCat("id-", asked[i].same_as)) << i;
    EXPECT_EQ(answers[i]->created, asked[i].same_as == i) << i;
    const auto events = store_->Events(answers[i]->id, 0, 10);
    ASSERT_EQ(events->size(), 1u) << i;
    EXPECT_EQ(events->front().SerializeAsString(), answers[i]->accepted.SerializeAsString()) << i;
  }
  EXPECT_EQ(answers[5]->accepted.accepted().queue_position(), 3u);
  EXPECT_EQ(store_->CountDepths()->queued, 4u);
}

TEST_P(StoreConformance, EventsThatAreAppendedTogetherStandInTheirOrder) {
  for (const char* request_id : {"r1", "r2", "r3"}) Accept("ann", request_id);
  const Lease first = *Acquire(), second = *Acquire();
  Lease lost = *Acquire();
  lost.epoch += 1;
  const auto numbered = [](uint64_t sequence) {
    Event event;
    event.mutable_stage_started()->set_stage(sassay::v1::STAGE_EVALUATE);
    event.set_sequence(sequence);
    return event;
  };
  const std::vector<std::pair<const Lease*, Event>> asked = {
      {&first, numbered(0)}, {&second, numbered(2)}, {&first, numbered(3)}, {&lost, numbered(0)},
      {&first, numbered(2)}, {&first, numbered(9)},  {&second, numbered(3)}};
  std::vector<absl::StatusOr<Event>> answers(asked.size());
  absl::BlockingCounter left(static_cast<int>(asked.size()));
  for (size_t i = 0; i < asked.size(); ++i) {
    store_->Append(*asked[i].first, asked[i].second, [&answers, &left, i](absl::StatusOr<Event> answer) {
      answers[i] = std::move(answer);
      left.DecrementCount();
    });
  }
  left.Wait();
  const std::vector<uint64_t> sequences = {2, 2, 3, 0, 2, 0, 3};
  for (size_t i = 0; i < asked.size(); ++i) {
    ASSERT_EQ(answers[i].ok(), sequences[i] != 0) << i << ": " << answers[i].status();
    EXPECT_EQ(answers[i].ok() ? answers[i]->sequence() : 0, sequences[i]) << i;
  }
  EXPECT_TRUE(absl::IsAborted(answers[3].status()));
  EXPECT_TRUE(absl::IsOutOfRange(answers[5].status()));
  EXPECT_EQ(store_->Get("ann", first.submission.id)->last_sequence, 3u);
  EXPECT_EQ(store_->Events(first.submission.id, 0, 10)->size(), 3u);
  EXPECT_EQ(store_->Get("ann", second.submission.id)->last_sequence, 3u);
  EXPECT_TRUE(Finish(first, sassay::v1::VERDICT_STATUS_CORRECT).ok());
}

TEST_P(StoreConformance, RequestIdsOfTenantsAreTheirOwn) { EXPECT_NE(Accept("ann", "r1"), Accept("bob", "r1")); }

TEST_P(StoreConformance, OthersSubmissionsAreNotFound) {
  const std::string id = Accept("ann", "r1");
  EXPECT_TRUE(absl::IsNotFound(store_->Get("bob", id).status()));
  EXPECT_TRUE(absl::IsNotFound(Cancel("bob", id).status()));
}

TEST_P(StoreConformance, TheLimitOfATenantCountsWaitingAndRunning) {
  ASSERT_TRUE(Submit("ann", "r1", "w", {2, 100}).ok());
  ASSERT_TRUE(Submit("ann", "r2", "w", {2, 100}).ok());
  ASSERT_TRUE(Acquire().has_value());
  const absl::Status refused = Submit("ann", "r3", "w", {2, 100}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--max-in-flight-per-tenant"));
  EXPECT_TRUE(Submit("bob", "r3", "w", {2, 100}).ok());
}

TEST_P(StoreConformance, TheLimitOfTheQueueCountsAllTenants) {
  ASSERT_TRUE(Submit("ann", "r1", "w", {10, 1}).ok());
  const absl::Status refused = Submit("bob", "r2", "w", {10, 1}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--max-queued"));
}

TEST_P(StoreConformance, ARepeatedRequestIsNeverRefusedForALimit) {
  ASSERT_TRUE(Submit("ann", "r1", "w", {1, 1}).ok());
  EXPECT_TRUE(Submit("ann", "r1", "w", {1, 1}).ok());
}

TEST_P(StoreConformance, TenantsTakeTurnsAndEachIsServedInOrder) {
  for (const char* request : {"a1", "a2", "a3"}) Accept("ann", request);
  for (const char* request : {"b1", "b2"}) Accept("bob", request);
  std::vector<std::string> order;
  while (absl::optional<Lease> lease = Acquire()) order.push_back(lease->submission.request.request_id());
  EXPECT_THAT(order, ElementsAre("a1", "b1", "a2", "b2", "a3"));
}

TEST_P(StoreConformance, EventsAreDenseFromOne) {
  const std::string id = Accept("ann", "r1");
  const absl::optional<Lease> lease = Acquire();
  ASSERT_TRUE(lease.has_value());
  ASSERT_TRUE(Append(*lease).ok());
  ASSERT_TRUE(Append(*lease).ok());
  ASSERT_TRUE(Finish(*lease, sassay::v1::VERDICT_STATUS_CORRECT).ok());
  const auto events = store_->Events(id, 0, 100);
  ASSERT_TRUE(events.ok());
  ASSERT_EQ(events->size(), 4u);
  for (size_t i = 0; i < events->size(); ++i) {
    EXPECT_EQ((*events)[i].sequence(), i + 1);
    EXPECT_EQ((*events)[i].submission_id(), id);
  }
  EXPECT_TRUE(events->front().has_accepted());
  EXPECT_EQ(events->back().verdict().submission_id(), id);
  EXPECT_EQ(store_->Events(id, 3, 100)->size(), 1u);
  EXPECT_EQ(store_->Events(id, 0, 2)->size(), 2u);
}

TEST_P(StoreConformance, ALostLeaseCannotWrite) {
  Accept("ann", "r1");
  const absl::optional<Lease> old = Acquire("first");
  ASSERT_TRUE(Return(*old, Ended::kCrashed).ok());
  const absl::optional<Lease> fresh = Acquire("second");
  ASSERT_TRUE(fresh.has_value());
  EXPECT_GT(fresh->epoch, old->epoch);
  EXPECT_TRUE(absl::IsAborted(Append(*old).status()));
  EXPECT_TRUE(absl::IsAborted(Finish(*old, sassay::v1::VERDICT_STATUS_CORRECT).status()));
  EXPECT_TRUE(absl::IsAborted(Return(*old, Ended::kCrashed).status()));
  EXPECT_TRUE(Finish(*fresh, sassay::v1::VERDICT_STATUS_CORRECT).ok());
}

TEST_P(StoreConformance, WhoseNameIsNotTheOwnersCannotWrite) {
  const std::string id = Accept("ann", "r1");
  Lease lease = *Acquire("first");
  const std::string owner = lease.owner;
  lease.owner += "x";
  EXPECT_TRUE(absl::IsAborted(Append(lease).status()));
  EXPECT_TRUE(absl::IsAborted(Return(lease, Ended::kStopped).status()));
  EXPECT_TRUE(absl::IsAborted(Finish(lease, sassay::v1::VERDICT_STATUS_CORRECT).status()));
  EXPECT_THAT(*store_->Renew({lease}, now_ + absl::Hours(1)), ElementsAre(Renewal::kLost));
  lease.owner = owner;
  EXPECT_TRUE(Finish(lease, sassay::v1::VERDICT_STATUS_CORRECT).ok());
}

TEST_P(StoreConformance, AnEventThatAsksForItsPlaceIsAppendedOnce) {
  const std::string id = Accept("ann", "r1");
  const Lease lease = *Acquire();
  EXPECT_EQ(lease.submission.last_sequence, 1u);
  const auto append = [&](uint64_t place, sassay::v1::Stage stage) {
    Event event;
    event.set_sequence(place);
    event.mutable_stage_started()->set_stage(stage);
    return Await<Event>([&](Callback<Event> done) { store_->Append(lease, event, std::move(done)); });
  };
  for (int repetition = 0; repetition < 2; ++repetition) {
    const auto appended = append(2, sassay::v1::STAGE_EVALUATE);
    ASSERT_TRUE(appended.ok()) << appended.status();
    EXPECT_EQ(appended->sequence(), 2u);
    EXPECT_EQ(appended->submission_id(), id);
  }
  EXPECT_TRUE(absl::IsOutOfRange(append(2, sassay::v1::STAGE_SANITIZE).status())) << "another event has the place";
  EXPECT_TRUE(absl::IsOutOfRange(append(4, sassay::v1::STAGE_SANITIZE).status())) << "it would leave a gap";
  ASSERT_TRUE(append(3, sassay::v1::STAGE_SANITIZE).ok());
  EXPECT_EQ(store_->Events(id, 0, 10)->size(), 3u);
}

TEST_P(StoreConformance, ThereIsOneVerdict) {
  const std::string id = Accept("ann", "r1");
  const absl::optional<Lease> lease = Acquire();
  ASSERT_TRUE(Finish(*lease, sassay::v1::VERDICT_STATUS_CORRECT).ok());
  EXPECT_TRUE(absl::IsAborted(Finish(*lease, sassay::v1::VERDICT_STATUS_CORRECT).status()));
  EXPECT_EQ(store_->Get("ann", id)->state, State::kFinished);
  EXPECT_FALSE(Acquire().has_value());
}

TEST_P(StoreConformance, AReturnedSubmissionKeepsItsPlace) {
  Accept("ann", "r1");
  Accept("ann", "r2");
  const auto retrying = Return(*Acquire(), Ended::kStopped);
  ASSERT_TRUE(retrying.ok());
  EXPECT_EQ(retrying->retrying().attempt(), 2u);
  EXPECT_EQ(retrying->retrying().reason(), "why");
  const absl::optional<Lease> lease = Acquire();
  EXPECT_EQ(lease->submission.request.request_id(), "r1");
  EXPECT_EQ(lease->submission.attempt, 2u);
}

TEST_P(StoreConformance, OnlyCrashesInARowAreLossesAndOnlyTroubleOfOursAreFailures) {
  const std::string id = Accept("ann", "r1");
  const auto counts_after = [&](Ended ended) {
    EXPECT_TRUE(Return(*Acquire(), ended).ok());
    const auto submission = store_->Get("ann", id);
    return std::make_pair(submission->losses, submission->failures);
  };
  EXPECT_EQ(counts_after(Ended::kCrashed), std::make_pair(1u, 0u));
  EXPECT_EQ(counts_after(Ended::kKilled), std::make_pair(1u, 0u));
  EXPECT_EQ(counts_after(Ended::kCrashed), std::make_pair(2u, 0u));
  EXPECT_EQ(counts_after(Ended::kFailed), std::make_pair(0u, 1u));
  EXPECT_EQ(counts_after(Ended::kCrashed), std::make_pair(1u, 1u));
  EXPECT_EQ(counts_after(Ended::kStopped), std::make_pair(0u, 1u));
  EXPECT_EQ(counts_after(Ended::kFailed), std::make_pair(0u, 2u));
}

TEST_P(StoreConformance, APromisedCancellationDoesNotGoBackToTheQueue) {
  const std::string id = Accept("ann", "r1");
  const absl::optional<Lease> lease = Acquire();
  ASSERT_TRUE(Cancel("ann", id).ok());
  for (const Ended ended : {Ended::kCrashed, Ended::kStopped, Ended::kFailed}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(Return(*lease, ended).status()));
  }
  EXPECT_EQ(store_->Get("ann", id)->state, State::kLeased);
  EXPECT_TRUE(Finish(*lease, sassay::v1::VERDICT_STATUS_CANCELLED).ok());
}

TEST_P(StoreConformance, AnEarlierRequestIsFoundByItsTenant) {
  const std::string id = Accept("ann", "r1");
  sassay::v1::ProfileRequest request = store_->Get("ann", id)->request;
  EXPECT_EQ(*store_->FindEarlier("ann", request), id);
  EXPECT_FALSE(store_->FindEarlier("bob", request)->has_value());
  request.set_workload("another");
  EXPECT_TRUE(absl::IsAlreadyExists(store_->FindEarlier("ann", request).status()));
}

TEST_P(StoreConformance, OldVerdictsAreForgottenInBatchesAndNothingElse) {
  std::vector<std::string> finished;
  for (int i = 0; i < 5; ++i) {
    finished.push_back(Accept("ann", absl::StrCat(i)));
    ASSERT_TRUE(Finish(*Acquire(), sassay::v1::VERDICT_STATUS_CORRECT).ok());
  }
  const std::string running = Accept("ann", "running");
  ASSERT_TRUE(Acquire().has_value());
  const std::string waiting = Accept("ann", "waiting");
  ASSERT_TRUE(store_->Audit({0, now_, "root", "a", "b", "OK", ""}).ok());
  const absl::Time decided = absl::FromUnixSeconds(store_->Events(finished[0], 1, 1)->front().at().seconds());
  EXPECT_EQ(*store_->Trim(decided, 100), 0);
  const absl::Time later = decided + absl::Seconds(1);
  EXPECT_EQ(*store_->Trim(later, 3), 3);
  EXPECT_EQ(*store_->Trim(later, 3), 2);
  EXPECT_EQ(*store_->Trim(later, 3), 0);
  for (const std::string& id : finished) {
    EXPECT_TRUE(absl::IsNotFound(store_->Get("ann", id).status()));
    EXPECT_TRUE(store_->Events(id, 0, 10)->empty());
  }
  EXPECT_EQ(store_->Get("ann", running)->state, State::kLeased);
  EXPECT_EQ(store_->Get("ann", waiting)->state, State::kQueued);
  EXPECT_EQ(store_->AuditLog(0, 10)->size(), 1u);
  EXPECT_EQ(store_->CountDepths()->queued, 1u);
  EXPECT_NE(Accept("ann", "0"), finished[0]);
}

TEST_P(StoreConformance, CancellingAQueuedSubmissionEndsIt) {
  const std::string id = Accept("ann", "r1");
  const auto cancelled = Cancel("ann", id);
  ASSERT_TRUE(cancelled.ok());
  EXPECT_EQ(cancelled->state, State::kQueued);
  ASSERT_TRUE(cancelled->verdict.has_value());
  EXPECT_EQ(cancelled->verdict->verdict().status(), sassay::v1::VERDICT_STATUS_CANCELLED);
  EXPECT_FALSE(Acquire().has_value());
}

TEST_P(StoreConformance, ACancelledRunCanOnlyEndCancelled) {
  const std::string id = Accept("ann", "r1");
  const absl::optional<Lease> lease = Acquire();
  EXPECT_EQ(Cancel("ann", id)->state, State::kLeased);
  EXPECT_TRUE(absl::IsFailedPrecondition(Finish(*lease, sassay::v1::VERDICT_STATUS_CORRECT).status()));
  EXPECT_THAT(*store_->Renew({*lease}, now_ + absl::Minutes(1)), ElementsAre(Renewal::kCancelling));
  EXPECT_TRUE(Finish(*lease, sassay::v1::VERDICT_STATUS_CANCELLED).ok());
  EXPECT_EQ(Cancel("ann", id)->state, State::kFinished);
}

TEST_P(StoreConformance, RenewalTellsWhatBecameOfEachLease) {
  Accept("ann", "r1");
  Accept("ann", "r2");
  const Lease kept = *Acquire(), lost = *Acquire();
  ASSERT_TRUE(Return(lost, Ended::kKilled).ok());
  const auto renewals = store_->Renew({kept, lost}, now_ + absl::Hours(1));
  ASSERT_TRUE(renewals.ok());
  EXPECT_THAT(*renewals, ElementsAre(Renewal::kRenewed, Renewal::kLost));
}

TEST_P(StoreConformance, ExpiredLeasesAreListedAndRenewedOnesAreNot) {
  Accept("ann", "r1");
  Accept("ann", "r2");
  const Lease renewed = *Acquire(), expired = *Acquire();
  ASSERT_TRUE(store_->Renew({renewed}, now_ + absl::Hours(1)).ok());
  const auto leases = store_->LeasesExpiredBy(now_ + absl::Minutes(1));
  ASSERT_TRUE(leases.ok());
  ASSERT_EQ(leases->size(), 1u);
  EXPECT_EQ(leases->front().submission.id, expired.submission.id);
  EXPECT_EQ(leases->front().epoch, expired.epoch);
  EXPECT_EQ(store_->LeasesExpiredBy(absl::InfiniteFuture())->size(), 2u);
}

TEST_P(StoreConformance, QueueDeadlinesAreFoundAndNotLeased) {
  const std::string id = Accept("ann", "r1");
  EXPECT_EQ(*store_->NextQueueDeadline(), now_ + absl::Hours(1));
  EXPECT_TRUE(store_->PastQueueDeadline(now_, 10)->empty());
  ASSERT_EQ(store_->PastQueueDeadline(now_ + absl::Hours(2), 10)->size(), 1u);
  auto finish = [&] {
    return Await<Event>([&](Callback<Event> done) {
      store_->FinishQueued(id, VerdictOf(sassay::v1::VERDICT_STATUS_INFRA_ERROR), std::move(done));
    });
  };
  EXPECT_TRUE(finish().ok());
  EXPECT_TRUE(absl::IsAborted(finish().status()));
  EXPECT_EQ(*store_->NextQueueDeadline(), absl::InfiniteFuture());
}

TEST_P(StoreConformance, DepthsFollowTheStates) {
  Accept("ann", "r1");
  Accept("bob", "r1");
  const Lease lease = *Acquire();
  EXPECT_EQ(store_->CountDepths()->queued, 1u);
  EXPECT_EQ(store_->CountDepths()->leased, 1u);
  ASSERT_TRUE(Finish(lease, sassay::v1::VERDICT_STATUS_CORRECT).ok());
  EXPECT_EQ(store_->CountDepths()->leased, 0u);
}

TEST_P(StoreConformance, ProgressTellsOfManyAtOnceAndLeavesOutWhatIsNotKnown) {
  const std::string ended = Accept("ann", "r1"), waits = Accept("ann", "r2");
  ASSERT_TRUE(Finish(*Acquire(), sassay::v1::VERDICT_STATUS_CORRECT).ok());
  const auto progress = store_->Progress({ended, "nobody's \"id\"", waits});
  ASSERT_TRUE(progress.ok()) << progress.status();
  std::set<std::tuple<std::string, uint64_t, bool>> found;
  for (const ProgressOf& one : *progress) found.insert({one.id, one.last_sequence, one.ended});
  EXPECT_EQ(found, (std::set<std::tuple<std::string, uint64_t, bool>>{{ended, 2, true}, {waits, 1, false}}));
  EXPECT_TRUE(store_->Progress({})->empty());
}

TEST_P(StoreConformance, TheAuditLogKeepsItsOrderAcrossReopening) {
  ASSERT_TRUE(store_->Audit({0, now_, "root", "Control.QuarantineGpu", "GPU-1", "OK", "too hot"}).ok());
  Reopen();
  ASSERT_TRUE(store_->Audit({0, now_, "root", "Control.ReleaseGpu", "GPU-1", "OK", ""}).ok());
  const auto log = store_->AuditLog(0, 10);
  ASSERT_TRUE(log.ok());
  ASSERT_EQ(log->size(), 2u);
  EXPECT_EQ((*log)[0].action, "Control.QuarantineGpu");
  EXPECT_EQ((*log)[0].detail, "too hot");
  EXPECT_EQ((*log)[1].sequence, (*log)[0].sequence + 1);
  EXPECT_EQ(store_->AuditLog((*log)[0].sequence, 10)->size(), 1u);
}

TEST_P(StoreConformance, ManyThreadsNeverTakeTheSameSubmission) {
  constexpr int kSubmissions = 200;
  for (int i = 0; i < kSubmissions; ++i) Accept("ann", absl::StrCat(i));
  absl::Mutex mutex;
  std::multiset<std::string> taken;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      while (absl::optional<Lease> lease = Acquire(absl::StrCat("worker ", i))) {
        ASSERT_TRUE(Finish(*lease, sassay::v1::VERDICT_STATUS_CORRECT).ok());
        absl::MutexLock lock(&mutex);
        taken.insert(lease->submission.id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken.size(), size_t{kSubmissions});
  EXPECT_EQ(std::set<std::string>(taken.begin(), taken.end()).size(), size_t{kSubmissions});
}

}  // namespace sassay::store
