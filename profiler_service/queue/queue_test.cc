#include "profiler_service/queue/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/base/files.h"
#include "profiler_service/queue/dispatcher.h"
#include "profiler_service/queue/own_verdicts.h"
#include "profiler_service/queue/queue_testing.h"
#include "profiler_service/store/sqlite/sqlite_store.h"
#include "profiler_service/store/testing/forwarding_store.h"

namespace sassay::queue {
namespace {

using sassay::v1::Event;
using sassay::v1::ProfileRequest;
using sassay::v1::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;

class QueueTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.now = [this] { return absl::FromUnixNanos(now_ns_); };
    options_.steady = options_.now;
    Open();
  }
  void Open(PreviousProcess previous = PreviousProcess::kEndedOrWasKilled) {
    store_ = *store::OpenSqliteStore(directory_.path() / "sassay.db");
    queue_ = std::make_unique<Queue>(*store_, options_);
    ASSERT_TRUE(queue_->Start(previous).ok());
  }
  // As a sudden end would: what is leased stays leased.
  void Reopen(PreviousProcess previous) {
    queue_.reset();
    store_.reset();
    Open(previous);
  }
  void Crash() { Reopen(PreviousProcess::kCrashed); }
  void Advance(absl::Duration duration) { now_ns_ += absl::ToInt64Nanoseconds(duration); }

  std::string Submit(const std::string& tenant, const std::string& request_id) {
    const auto submitted = SubmitAndWait(*queue_, tenant, RequestOf(request_id));
    EXPECT_TRUE(submitted.ok()) << submitted.status();
    return submitted.ok() ? submitted->id : "";
  }
  absl::StatusOr<bool> Cancel(const std::string& tenant, const std::string& id) {
    return store::Await<bool>([&](store::Callback<bool> done) { queue_->Cancel(tenant, id, std::move(done)); });
  }
  Verdict VerdictOf(const std::string& tenant, const std::string& id) { return WaitForVerdict(*queue_, tenant, id); }

  TemporaryDirectory directory_ = *TemporaryDirectory::Create("queue_test");
  std::atomic<int64_t> now_ns_ = 1'700'000'000'000'000'000;
  QueueOptions options_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Queue> queue_;
};

TEST_F(QueueTest, AVerdictIsPublishedOnceAndLast) {
  const std::string id = Submit("ann", "r1");
  const auto job = queue_->Next();
  ASSERT_EQ(job->lease().submission.id, id);
  job->StageStarted(sassay::v1::STAGE_EVALUATE, "emulated:sm_90a");
  queue_->Conclude(*job, CorrectVerdict());
  const std::vector<Event> events = WaitForEvents(*queue_, "ann", id);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_TRUE(events[0].has_accepted());
  EXPECT_EQ(events[1].stage_started().device(), "emulated:sm_90a");
  EXPECT_EQ(events[2].verdict().status(), sassay::v1::VERDICT_STATUS_CORRECT);
  EXPECT_EQ(events[2].verdict().submission_id(), id);
  EXPECT_EQ(events[2].verdict().attempt(), 1u);
  queue_->Conclude(*job, CorrectVerdict());
  EXPECT_EQ(WaitForEvents(*queue_, "ann", id).size(), 3u);
}

TEST_F(QueueTest, WhatACandidateSaysIsKeptWithinBounds) {
  const std::string id = Submit("ann", "r1");
  const auto job = queue_->Next();
  sassay::v1::StageReport report;
  report.set_reason(std::string(30 << 20, 'r'));
  job->StageFinished(report);
  Verdict verdict = CorrectVerdict();
  for (int i = 0; i < 100; ++i) verdict.mutable_details()->add_warnings(std::string(1 << 20, 'w'));
  queue_->Conclude(*job, verdict);
  const std::vector<Event> events = WaitForEvents(*queue_, "ann", id);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_LT(events[1].ByteSizeLong(), 70u << 10);
  EXPECT_LT(events[2].ByteSizeLong(), 1u << 20);
  EXPECT_EQ(events[2].verdict().status(), sassay::v1::VERDICT_STATUS_CORRECT);
  EXPECT_THAT(events[2].verdict().details().notes(0), HasSubstr("were cut"));
}

TEST_F(QueueTest, WhatACandidatePrintsNeedNotBeUtf8) {
  const std::string id = Submit("ann", "r1");
  const auto job = queue_->Next();
  Verdict verdict = CorrectVerdict();
  verdict.mutable_details()->set_device_output("caf\xc3\xa9 \xff\xc3");
  queue_->Conclude(*job, verdict);
  EXPECT_EQ(VerdictOf("ann", id).details().device_output(), "caf\xc3\xa9 ??");
}

TEST_F(QueueTest, AWatcherIsToldOfLiveEventsWithoutAskingAgain) {
  const std::string id = Submit("ann", "r1");
  Watcher watcher(*queue_, "ann", id, 0);
  const auto job = queue_->Next();
  std::thread runner([&] {
    job->StageStarted(sassay::v1::STAGE_EVALUATE, "d");
    queue_->Conclude(*job, CorrectVerdict());
  });
  EXPECT_EQ(watcher.ReadAll().size(), 3u);
  runner.join();
}

TEST_F(QueueTest, AWatcherWhoComesBackSeesTheRestAndNothingTwice) {
  const std::string id = Submit("ann", "r1");
  const auto job = queue_->Next();
  for (int i = 0; i < 100; ++i) job->StageStarted(sassay::v1::STAGE_EVALUATE, absl::StrCat(i));
  queue_->Conclude(*job, CorrectVerdict());
  const std::vector<Event> rest = Watcher(*queue_, "ann", id, 42).ReadAll();
  ASSERT_EQ(rest.size(), 60u);
  EXPECT_EQ(rest.front().sequence(), 43u);
  EXPECT_EQ(rest.back().sequence(), 102u);
  EXPECT_TRUE(Watcher(*queue_, "ann", id, 102).ReadAll().empty());
}

TEST_F(QueueTest, WatchingAnothersSubmissionIsNotFound) {
  const std::string id = Submit("ann", "r1");
  EXPECT_TRUE(absl::IsNotFound(queue_->Subscribe("bob", id, 0, [] {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(queue_->Subscribe("ann", id, 99, [] {}).status()));
  EXPECT_TRUE(absl::IsNotFound(Cancel("bob", id).status()));
}

TEST_F(QueueTest, CancellingWhatWaitsEndsItAtOnce) {
  const std::string id = Submit("ann", "r1");
  EXPECT_TRUE(*Cancel("ann", id));
  EXPECT_EQ(VerdictOf("ann", id).code(), sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT);
  EXPECT_FALSE(*Cancel("ann", id));
}

TEST_F(QueueTest, CancellingWhatRunsTellsTheRunnerAndOverridesItsVerdict) {
  const std::string id = Submit("ann", "r1");
  const auto job = queue_->Next();
  EXPECT_FALSE(job->cancelled());
  EXPECT_TRUE(*Cancel("ann", id));
  EXPECT_TRUE(job->cancelled());
  queue_->Conclude(*job, CorrectVerdict());
  EXPECT_EQ(VerdictOf("ann", id).status(), sassay::v1::VERDICT_STATUS_CANCELLED);
}

TEST_F(QueueTest, InfrastructureTroubleIsRetriedAndThenStands) {
  const std::string id = Submit("ann", "r1");
  for (uint32_t attempt = 1; attempt <= options_.max_attempts; ++attempt) {
    const auto job = queue_->Next();
    EXPECT_EQ(job->lease().submission.attempt, attempt);
    queue_->Conclude(*job, InfraVerdict(sassay::v1::VERDICT_CODE_RUNNER_LOST, "runner lost"));
  }
  const std::vector<Event> events = WaitForEvents(*queue_, "ann", id);
  ASSERT_EQ(events.size(), 1 + options_.max_attempts);
  EXPECT_EQ(events[1].retrying().reason(), "runner lost");
  EXPECT_EQ(events[1].retrying().attempt(), 2u);
  EXPECT_EQ(events.back().verdict().code(), sassay::v1::VERDICT_CODE_RUNNER_LOST);
  EXPECT_EQ(events.back().verdict().attempt(), options_.max_attempts);
}

TEST_F(QueueTest, StopsAndCrashesDoNotEatTheRetries) {
  const std::string id = Submit("ann", "r1");
  for (uint32_t i = 0; i < options_.max_attempts; ++i) {
    const auto job = queue_->Next();
    if (i == 0) {
      Crash();
      continue;
    }
    queue_->InterruptAll();
    queue_->Conclude(*job, InfraVerdict(sassay::v1::VERDICT_CODE_RUNNER_LOST, "interrupted"));
    Crash();
  }
  for (uint32_t attempt = 1; attempt <= options_.max_attempts; ++attempt) {
    EXPECT_EQ(store_->Get("ann", id)->state, store::State::kQueued);
    queue_->Conclude(*queue_->Next(), InfraVerdict(sassay::v1::VERDICT_CODE_RUNNER_LOST, "runner lost"));
  }
  EXPECT_EQ(VerdictOf("ann", id).code(), sassay::v1::VERDICT_CODE_RUNNER_LOST);
}

TEST_F(QueueTest, WhoFoundNoOpenGpuWaitsInTheQueueAgainAndNothingCounts) {
  const std::string id = Submit("ann", "r1");
  for (uint32_t i = 0; i < options_.max_attempts + 1; ++i) {
    const auto job = queue_->Next();
    job->FoundNoOpenGpu("GPU-1 is closed: cooling");
    EXPECT_TRUE(job->cancelled());
    queue_->Conclude(*job, InfraVerdict(sassay::v1::VERDICT_CODE_DEVICE_LOST, "GPU-1 is closed: cooling"));
    EXPECT_EQ(store_->Get("ann", id)->state, store::State::kQueued);
    EXPECT_EQ(store_->Get("ann", id)->failures, 0u);
  }
}

// The job does not know yet, because its interruption comes after the store's answer.
TEST_F(QueueTest, ACancellationThatTheJobHasNotHeardOfIsKeptAllTheSame) {
  for (const bool stopping : {false, true}) {
    const std::string id = Submit("ann", stopping ? "r1" : "r2");
    const auto job = queue_->Next();
    ASSERT_TRUE(store::Await<store::Cancellation>([&](store::Callback<store::Cancellation> done) {
                  store_->Cancel("ann", id, Verdict(), std::move(done));
                }).ok());
    if (stopping) job->Interrupt(Interruption::kStopping);
    queue_->Conclude(*job, InfraVerdict(sassay::v1::VERDICT_CODE_RUNNER_LOST, "runner lost"));
    EXPECT_EQ(VerdictOf("ann", id).status(), sassay::v1::VERDICT_STATUS_CANCELLED);
  }
}

TEST_F(QueueTest, LongStoriesAreToldToTheEnd) {
  const std::string id = Submit("ann", "r1");
  const auto job = queue_->Next();
  for (int i = 0; i < 300; ++i) job->StageStarted(sassay::v1::STAGE_EVALUATE, absl::StrCat(i));
  queue_->Conclude(*job, CorrectVerdict());
  EXPECT_EQ(WaitForEvents(*queue_, "ann", id).size(), 302u);
}

TEST_F(QueueTest, WhoWatchesWhatHasEndedIsNotRemembered) {
  const std::string id = Submit("ann", "r1");
  queue_->Conclude(*queue_->Next(), CorrectVerdict());
  for (int i = 0; i < 10; ++i) WaitForEvents(*queue_, "ann", id);
  EXPECT_EQ(queue_->watchers(), 0u);
}

TEST_F(QueueTest, WhatCannotEndDifferentlyIsNotRetried) {
  const std::string id = Submit("ann", "r1");
  queue_->Conclude(*queue_->Next(), InfraVerdict(sassay::v1::VERDICT_CODE_EMULATOR_LACKS, "no wgmma"));
  EXPECT_EQ(VerdictOf("ann", id).attempt(), 1u);
}

TEST_F(QueueTest, WaitingPastTheQueueDeadlineIsAVerdict) {
  ProfileRequest request = RequestOf("r1");
  request.mutable_queue_deadline()->set_seconds(5);
  const auto submitted = SubmitAndWait(*queue_, "ann", request);
  queue_->Tick();
  Advance(absl::Seconds(6));
  queue_->Tick();
  const Verdict verdict = VerdictOf("ann", submitted->id);
  EXPECT_EQ(verdict.code(), sassay::v1::VERDICT_CODE_QUEUE_DEADLINE);
  EXPECT_THAT(verdict.reason(), HasSubstr("6s"));
}

// The timekeeper asks the store for the next deadline and then goes to sleep; in between, a submission comes in.
class SubmitsWhileTheTimekeeperDozesOff : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::StatusOr<absl::Time> NextQueueDeadline() override {
    absl::StatusOr<absl::Time> answer = ForwardingStore::NextQueueDeadline();
    if (!submitted_.exchange(true)) submit();
    return answer;
  }
  std::function<void()> submit;

 private:
  std::atomic<bool> submitted_ = false;
};

TEST_F(QueueTest, ADeadlineThatComesWhileTheTimekeeperDozesOffIsKept) {
  options_.lease = absl::Hours(10);  // the timekeeper would sleep for hours
  SubmitsWhileTheTimekeeperDozesOff dozing(*store_);
  queue_ = std::make_unique<Queue>(dozing, options_);
  std::string id;
  absl::Notification submitted;
  dozing.submit = [&] {
    ProfileRequest request = RequestOf("r1");
    request.mutable_queue_deadline()->set_seconds(5);
    id = SubmitAndWait(*queue_, "ann", request)->id;
    Advance(absl::Seconds(6));
    submitted.Notify();
  };
  ASSERT_TRUE(queue_->Start().ok());
  submitted.WaitForNotification();
  EXPECT_EQ(VerdictOf("ann", id).code(), sassay::v1::VERDICT_CODE_QUEUE_DEADLINE);
  queue_ = nullptr;
}

TEST_F(QueueTest, TheRunDeadlineBeginsWithTheRun) {
  ProfileRequest request = RequestOf("r1");
  request.mutable_run_deadline()->set_seconds(20);
  ASSERT_TRUE(SubmitAndWait(*queue_, "ann", request).ok());
  Advance(absl::Seconds(7));
  const auto job = queue_->Next();
  EXPECT_EQ(job->deadline(), options_.now() + absl::Seconds(20));
}

TEST_F(QueueTest, ARunnerThatIgnoresItsDeadlineIsInterruptedAndBlamedOnUs) {
  const std::string id = Submit("ann", "r1");
  const auto job = queue_->Next();
  Advance(options_.default_run_deadline + RunningJob::kGrace + absl::Seconds(1));
  queue_->Tick();
  EXPECT_TRUE(job->cancelled());
  Verdict verdict;
  verdict.set_status(sassay::v1::VERDICT_STATUS_CANCELLED);
  verdict.set_stage(sassay::v1::STAGE_SANITIZE);
  verdict.add_stages()->set_stage(sassay::v1::STAGE_EVALUATE);
  queue_->Conclude(*job, verdict);
  const Verdict published = VerdictOf("ann", id);
  EXPECT_EQ(published.status(), sassay::v1::VERDICT_STATUS_INFRA_ERROR);
  EXPECT_EQ(published.reason(), "the stages were given up 16s after run_deadline");
  EXPECT_EQ(published.stage(), sassay::v1::STAGE_SANITIZE) << "what the stages saw stays";
  EXPECT_EQ(published.stages_size(), 1);
}

TEST_F(QueueTest, WhatADeadProcessRanIsRunAgain) {
  const std::string id = Submit("ann", "r1");
  const auto lost = queue_->Next();
  Crash();
  const auto job = queue_->Next();
  ASSERT_EQ(job->lease().submission.id, id);
  EXPECT_EQ(job->lease().submission.attempt, 2u);
  queue_->Conclude(*job, CorrectVerdict());
  EXPECT_EQ(WaitForEvents(*queue_, "ann", id).size(), 3u);
}

TEST_F(QueueTest, ASubmissionThatCrashesItsProcessEachTimeIsGivenUp) {
  const std::string id = Submit("ann", "r1");
  for (uint32_t i = 0; i < options_.max_losses; ++i) {
    ASSERT_NE(queue_->Next(), nullptr);
    Crash();
  }
  const Verdict verdict = VerdictOf("ann", id);
  EXPECT_EQ(verdict.status(), sassay::v1::VERDICT_STATUS_INFRA_ERROR);
  EXPECT_THAT(verdict.reason(), HasSubstr(absl::StrCat(options_.max_losses, " times in a row")));
}

TEST_F(QueueTest, AProcessThatIsKilledOverAndOverIsNotTheSubmissionsFault) {
  const std::string id = Submit("ann", "r1");
  for (uint32_t i = 0; i < options_.max_losses + options_.max_attempts; ++i) {
    ASSERT_NE(queue_->Next(), nullptr);
    Reopen(PreviousProcess::kEndedOrWasKilled);
  }
  queue_->Conclude(*queue_->Next(), InfraVerdict(sassay::v1::VERDICT_CODE_RUNNER_LOST, "a runner was lost, too"));
  queue_->Conclude(*queue_->Next(), CorrectVerdict());
  EXPECT_EQ(VerdictOf("ann", id).status(), sassay::v1::VERDICT_STATUS_CORRECT);
}

TEST_F(QueueTest, ACancellationSurvivesACrash) {
  const std::string id = Submit("ann", "r1");
  const auto job = queue_->Next();
  ASSERT_TRUE(*Cancel("ann", id));
  Crash();
  EXPECT_EQ(VerdictOf("ann", id).status(), sassay::v1::VERDICT_STATUS_CANCELLED);
}

TEST_F(QueueTest, AWorkerThatWasAsleepTooLongCannotPublish) {
  const std::string id = Submit("ann", "r1");
  const auto sleeper = queue_->Next();
  const auto taken = store::Await<Event>([&](store::Callback<Event> done) {
    store_->Return(sleeper->lease(), "expired", store::Ended::kCrashed, {}, options_.now(), std::move(done));
  });
  ASSERT_TRUE(taken.ok());
  queue_->Tick();
  EXPECT_TRUE(sleeper->cancelled());
  queue_->Conclude(*sleeper, CorrectVerdict());
  EXPECT_EQ(store_->Get("ann", id)->state, store::State::kQueued);
}

// Notes who asked.
class NotesTheAsker : public store::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void Acquire(const store::Asker& asker, absl::Time now, absl::Time expires_at,
               store::Callback<absl::optional<store::Lease>> done) override {
    askers.push_back(asker);
    ForwardingStore::Acquire(asker, now, expires_at, std::move(done));
  }
  std::vector<store::Asker> askers;
};

TEST_F(QueueTest, WhoAsksSaysWhatItIsAndWhatRanThereLately) {
  NotesTheAsker notes(*store_);
  options_.asker.models = {"NVIDIA H200"};
  queue_ = std::make_unique<Queue>(notes, options_);
  ASSERT_TRUE(queue_->Start().ok());
  for (const char* workload : {"a", "b", "a", "c", "d", "e", "f"}) {
    ProfileRequest request = RequestOf(absl::StrCat("r", notes.askers.size()));
    request.set_workload(workload);
    ASSERT_TRUE(SubmitAndWait(*queue_, "ann", request).ok());
    const auto job = queue_->Next();
    ASSERT_NE(job, nullptr);
    queue_->Conclude(*job, CorrectVerdict());
  }
  EXPECT_THAT(notes.askers.front().states, testing::IsEmpty());
  EXPECT_THAT(notes.askers[3].states, testing::ElementsAre("a", "b"));
  EXPECT_THAT(notes.askers.back().states, testing::ElementsAre("e", "d", "c", "a"));
  EXPECT_THAT(notes.askers.back().models, testing::ElementsAre("NVIDIA H200"));
  EXPECT_FALSE(notes.askers.back().owner.empty());
  queue_ = nullptr;
}

TEST_F(QueueTest, RequestsAreRefusedByField) {
  const auto refusal = [&](auto change) {
    ProfileRequest request = RequestOf("r1");
    change(request);
    const absl::Status status = SubmitAndWait(*queue_, "ann", request).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](ProfileRequest& r) { r.clear_request_id(); }), HasSubstr("request_id"));
  EXPECT_THAT(refusal([](ProfileRequest& r) { r.set_request_id(std::string(129, 'x')); }), HasSubstr("request_id"));
  EXPECT_THAT(refusal([](ProfileRequest& r) { r.set_bundle_sha256("ABC"); }), HasSubstr("bundle_sha256"));
  EXPECT_THAT(refusal([](ProfileRequest& r) { r.clear_workload(); }), HasSubstr("workload"));
  EXPECT_THAT(refusal([](ProfileRequest& r) { r.set_priority(static_cast<sassay::v1::Priority>(9)); }),
              HasSubstr("priority"));
  EXPECT_THAT(refusal([](ProfileRequest& r) { r.set_gpu_model(std::string(65, 'x')); }), HasSubstr("gpu_model"));
  EXPECT_THAT(refusal([](ProfileRequest& r) { r.add_stages(sassay::v1::STAGE_COMPILE); }), HasSubstr("stages"));
  EXPECT_THAT(refusal([](ProfileRequest& r) {
                for (int i = 0; i < 9; ++i) r.add_stages(sassay::v1::STAGE_EVALUATE);
              }),
              HasSubstr("stages: expected each stage once, got 9"));
  EXPECT_THAT(refusal([](ProfileRequest& r) {
                r.GetReflection()->MutableUnknownFields(&r)->AddLengthDelimited(1000)->assign(5000, 'x');
              }),
              HasSubstr("at most 4096 bytes"));
  EXPECT_THAT(refusal([](ProfileRequest& r) { r.mutable_run_deadline()->set_seconds(-1); }),
              HasSubstr("--max-run-deadline"));
  EXPECT_THAT(refusal([](ProfileRequest& r) { r.mutable_queue_deadline()->set_seconds(1 << 30); }),
              HasSubstr("--max-queue-deadline"));
}

TEST_F(QueueTest, AFullQueueNamesItsFlag) {
  options_.limits = {1, 10};
  Crash();
  Submit("ann", "r1");
  const absl::Status status = SubmitAndWait(*queue_, "ann", RequestOf("r2")).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--max-in-flight-per-tenant"));
}

TEST_F(QueueTest, HooksSeeEachStepOnce) {
  std::atomic<int> accepted = 0, retried = 0, finished = 0, stages = 0;
  QueueHooks hooks;
  hooks.accepted = [&] { ++accepted; };
  hooks.retried = [&] { ++retried; };
  hooks.finished = [&](const Verdict&) { ++finished; };
  hooks.stage_finished = [&](const sassay::v1::StageReport&) { ++stages; };
  queue_ = nullptr;
  queue_ = std::make_unique<Queue>(*store_, options_, hooks);
  ASSERT_TRUE(queue_->Start().ok());
  Submit("ann", "r1");
  Submit("ann", "r1");
  const auto lost = queue_->Next();
  lost->StageFinished({});
  queue_->Conclude(*lost, InfraVerdict(sassay::v1::VERDICT_CODE_RUNNER_LOST, "x"));
  queue_->Conclude(*queue_->Next(), CorrectVerdict());
  EXPECT_EQ(stages, 1);
  EXPECT_EQ(accepted, 1);
  EXPECT_EQ(retried, 1);
  EXPECT_EQ(finished, 1);
}

TEST_F(QueueTest, TheDispatcherRunsEverythingAndHandsOverTheBundle) {
  FakeRunner runner(4);
  std::atomic<int> wrong_bundles = 0;
  runner.run = [&](const Job& job, JobObserver&) {
    if (job.bundle_bytes != absl::StrCat("bundle of ", job.tenant)) ++wrong_bundles;
    return CorrectVerdict();
  };
  Dispatcher dispatcher(*queue_, runner, [](const store::Lease& lease) {
    return absl::StatusOr<std::string>(absl::StrCat("bundle of ", lease.submission.tenant));
  });
  std::vector<std::string> ids;
  for (int i = 0; i < 50; ++i) ids.push_back(Submit("ann", absl::StrCat(i)));
  for (const std::string& id : ids) EXPECT_EQ(VerdictOf("ann", id).status(), sassay::v1::VERDICT_STATUS_CORRECT);
  EXPECT_EQ(wrong_bundles, 0);
}

TEST_F(QueueTest, AnAttemptKnowsWhereTheEarlierOnesHadTrouble) {
  FakeRunner runner(1);
  std::vector<std::vector<std::string>> earlier;
  runner.run = [&](const Job& job, JobObserver& observer) {
    earlier.push_back(job.earlier_devices);
    observer.StageStarted(sassay::v1::STAGE_ADMISSION, "");
    observer.StageStarted(sassay::v1::STAGE_EVALUATE, absl::StrCat("GPU-", job.attempt));
    return InfraVerdict(sassay::v1::VERDICT_CODE_DEVICE_LOST, "fell off the bus");
  };
  Dispatcher dispatcher(*queue_, runner, ReadNothing);
  VerdictOf("ann", Submit("ann", "r1"));
  EXPECT_THAT(earlier, ElementsAre(ElementsAre(), ElementsAre("GPU-1"), ElementsAre("GPU-1", "GPU-2")));
}

TEST_F(QueueTest, AMissingBundleIsOurTrouble) {
  options_.max_attempts = 1;
  Crash();
  FakeRunner runner(1);
  Dispatcher dispatcher(
      *queue_, runner, [](const store::Lease&) { return absl::StatusOr<std::string>(absl::NotFoundError("expired")); });
  EXPECT_THAT(VerdictOf("ann", Submit("ann", "r1")).reason(), HasSubstr("expired"));
}

TEST_F(QueueTest, DrainingGivesRunningWorkBack) {
  FakeRunner runner(1);
  absl::Notification started;
  runner.run = [&](const Job&, JobObserver& observer) {
    started.Notify();
    while (!observer.cancelled()) std::this_thread::yield();
    Verdict verdict;
    verdict.set_status(sassay::v1::VERDICT_STATUS_CANCELLED);
    return verdict;
  };
  Dispatcher dispatcher(*queue_, runner, ReadNothing);
  const std::string id = Submit("ann", "r1");
  started.WaitForNotification();
  dispatcher.Drain(absl::ZeroDuration());
  const auto submission = store_->Get("ann", id);
  EXPECT_EQ(submission->state, store::State::kQueued);
  EXPECT_EQ(submission->losses, 0u);
  EXPECT_EQ(submission->failures, 0u);
}

TEST_F(QueueTest, TenantsShareTheWorkersInTurn) {
  for (int i = 0; i < 4; ++i) Submit("flood", absl::StrCat(i));
  Submit("ann", "r1");
  std::vector<std::string> tenants;
  for (int i = 0; i < 3; ++i) tenants.push_back(queue_->Next()->lease().submission.tenant);
  EXPECT_EQ(std::count(tenants.begin(), tenants.end(), "ann"), 1);
}

}  // namespace
}  // namespace sassay::queue
