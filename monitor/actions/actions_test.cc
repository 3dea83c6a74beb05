// What decisions become: calls in order, and health as it changes.
#include <atomic>

#include "absl/synchronization/notification.h"
#include "common/base/steady_time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "monitor/actions/carry_out.h"
#include "monitor/actions/executor.h"
#include "monitor/actions/health_reporter.h"
#include "monitor/testing/fake_control.h"

namespace sassay::monitor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Decision Make(uint64_t id, DecisionKind kind, const std::string& gpu = "GPU-a") {
  Decision decision;
  decision.id = id;
  decision.kind = kind;
  decision.gpu = gpu;
  decision.reason = "hot";
  decision.incident_id = "i-1";
  decision.state = v1::GPU_STATE_COOLING;
  decision.from = absl::FromUnixSeconds(1'700'000'000);
  decision.incident.set_id("i-1");
  decision.incident.set_revision(3);
  return decision;
}

class CarryOutTest : public testing::Test {
 protected:
  Outcome Do(const Decision& decision) {
    return CarryOut(
        decision, client_, [this](const std::string&) { return restart_; }, ledger_);
  }

  FakeControl control_;
  const ControlClient client_{control_.Channel()};
  HoldLedger ledger_;
  absl::Status restart_;
};

TEST_F(CarryOutTest, EachDecisionIsItsCallInTheMonitorsName) {
  for (DecisionKind kind : {DecisionKind::kPause, DecisionKind::kResume, DecisionKind::kQuarantine,
                            DecisionKind::kExclude, DecisionKind::kRestartWorkers, DecisionKind::kRecordIncident}) {
    EXPECT_TRUE(Do(Make(1, kind)).status.ok());
  }
  EXPECT_THAT(control_.calls(), ElementsAre("PauseDispatch GPU-a monitor COOLING hot", "ResumeDispatch GPU-a monitor",
                                            "QuarantineGpu GPU-a monitor hot", "ExcludeTurns GPU-a i-1 open",
                                            "RestartWorkers GPU-a", "RecordIncident i-1 3"));
}

TEST_F(CarryOutTest, WindowThatIsOverIsSentClosed) {
  Decision decision = Make(1, DecisionKind::kExclude);
  decision.to = decision.from + absl::Seconds(5);
  Do(decision);
  EXPECT_THAT(control_.calls(), ElementsAre("ExcludeTurns GPU-a i-1 closed"));
}

TEST_F(CarryOutTest, ResumingIsKnownToTheLedgerAsOurs) {
  const absl::Time before = SteadyNow();
  EXPECT_FALSE(ledger_.ResumedSince("GPU-a", before));
  Do(Make(1, DecisionKind::kResume));
  EXPECT_TRUE(ledger_.ResumedSince("GPU-a", before));
  EXPECT_FALSE(ledger_.ResumedSince("GPU-b", before));
}

TEST_F(CarryOutTest, CanaryComesBackAsSamples) {
  control_.canary.mutable_tensor()->set_median_ns(1000);
  control_.canary.mutable_memory()->set_median_ns(2000);
  const Outcome outcome = Do(Make(1, DecisionKind::kRunCanary));
  ASSERT_EQ(outcome.samples.size(), 2u);
  EXPECT_EQ(outcome.samples[0].signal, "canary.tensor_ns");
  EXPECT_EQ(outcome.samples[0].value, 1000);
  EXPECT_EQ(outcome.samples[1].value, 2000);
}

TEST_F(CarryOutTest, CanaryThatTheJudgeCouldNotRunHasFailedAndOneThatIsBusyHasNot) {
  control_.canary_status = grpc::Status(grpc::UNAVAILABLE, "the judge died");
  const Outcome failed = Do(Make(1, DecisionKind::kRunCanary));
  ASSERT_EQ(failed.samples.size(), 1u);
  EXPECT_EQ(failed.samples[0].signal, "canary.failed");
  EXPECT_EQ(failed.samples[0].value, 1);
  control_.canary_status = grpc::Status(grpc::DATA_LOSS, "a sum is wrong");
  EXPECT_EQ(Do(Make(1, DecisionKind::kRunCanary)).samples[0].value, 2);
  control_.canary_status = grpc::Status(grpc::DEADLINE_EXCEEDED, "busy");
  EXPECT_THAT(Do(Make(1, DecisionKind::kRunCanary)).samples, IsEmpty());
}

TEST_F(CarryOutTest, ServiceThatIsGoneSaysNothingAboutTheGpu) {
  ConnectionOptions nowhere;
  nowhere.service = "127.0.0.1:1";
  const ControlClient client(*SecureChannel::Open(nowhere));
  const Outcome outcome = CarryOut(Make(1, DecisionKind::kRunCanary), client, {}, ledger_);
  EXPECT_TRUE(absl::IsUnavailable(outcome.status));
  EXPECT_THAT(outcome.samples, IsEmpty());
}

TEST_F(CarryOutTest, RestartOfTheServiceIsTheSupervisorsWord) {
  restart_ = absl::FailedPreconditionError("nobody told me how");
  EXPECT_TRUE(absl::IsFailedPrecondition(Do(Make(1, DecisionKind::kRestartService)).status));
}

// Collects outcomes until there are `count`.
std::vector<uint64_t> AwaitIds(Executor& executor, size_t count) {
  std::vector<uint64_t> ids;
  const absl::Time deadline = SteadyNow() + absl::Seconds(30);
  while (ids.size() < count && SteadyNow() < deadline) {
    for (const Outcome& outcome : executor.TakeOutcomes()) ids.push_back(outcome.id);
    absl::SleepFor(absl::Milliseconds(1));
  }
  return ids;
}

Outcome Done(const Decision& decision) {
  Outcome outcome;
  outcome.id = decision.id;
  return outcome;
}

TEST(Executor, KeepsTheOrderOnOneGpu) {
  Executor executor(Done, [] {});
  executor.Submit({Make(1, DecisionKind::kPause), Make(2, DecisionKind::kExclude), Make(3, DecisionKind::kResume)});
  EXPECT_THAT(AwaitIds(executor, 3), ElementsAre(1, 2, 3));
}

TEST(Executor, CanaryThatWaitsHoldsUpNothingElse) {
  absl::Notification release;
  Executor executor(
      [&release](const Decision& decision) {
        if (decision.kind == DecisionKind::kRunCanary) release.WaitForNotification();
        return Done(decision);
      },
      [] {});
  executor.Submit({Make(1, DecisionKind::kRunCanary), Make(2, DecisionKind::kPause),
                   Make(3, DecisionKind::kRecordIncident), Make(4, DecisionKind::kPause, "GPU-b")});
  EXPECT_EQ(AwaitIds(executor, 3).size(), 3u);
  EXPECT_EQ(executor.under_way(), 1u);
  release.Notify();
  EXPECT_THAT(AwaitIds(executor, 1), ElementsAre(1));
}

TEST(Executor, DecisionUnderWayIsNotTakenUpAgain) {
  absl::Notification release;
  std::atomic<int> runs = 0;
  Executor executor(
      [&](const Decision& decision) {
        ++runs;
        release.WaitForNotification();
        return Done(decision);
      },
      [] {});
  executor.Submit({Make(1, DecisionKind::kPause)});
  executor.Submit({Make(1, DecisionKind::kPause)});
  release.Notify();
  AwaitIds(executor, 1);
  EXPECT_EQ(runs, 1);
  executor.Submit({Make(1, DecisionKind::kPause)});
  AwaitIds(executor, 1);
  EXPECT_EQ(runs, 2) << "after its outcome was taken it may come again";
}

class HealthReporterTest : public testing::Test {
 protected:
  void Set(const std::string& gpu) {
    v1::ReportHealthRequest report;
    report.add_gpus()->set_uuid(gpu);
    reporter_.Set(report);
  }
  // Waits for that many calls.
  std::vector<v1::ReportHealthRequest> Await(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto enough = [this, count] { return sent_.size() >= count; };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Seconds(30)));
    return sent_;
  }

  absl::Mutex mutex_;
  std::vector<v1::ReportHealthRequest> sent_;
  absl::Status answer_;
  HealthReporter reporter_{"abc", [this](const v1::ReportHealthRequest& report) {
                             absl::MutexLock lock(&mutex_);
                             sent_.push_back(report);
                             return answer_;
                           }};
};

TEST_F(HealthReporterTest, SendsWhatIsNewUnderItsInstance) {
  Set("GPU-a");
  Await(1);
  Set("GPU-b");
  const auto sent = Await(2);
  EXPECT_EQ(sent[0].gpus(0).uuid(), "GPU-a");
  EXPECT_EQ(sent[1].gpus(0).uuid(), "GPU-b");
  EXPECT_EQ(sent[1].instance(), "abc");
}

TEST_F(HealthReporterTest, SaysTheSameAgainAfterASecondAsLongAsTheEngineSteps) {
  const absl::Time begin = SteadyNow();
  absl::Time first = absl::InfiniteFuture();
  while (SteadyNow() < begin + absl::Seconds(30)) {
    Set("GPU-a");
    absl::MutexLock lock(&mutex_);
    if (sent_.size() == 1) first = std::min(first, SteadyNow());
    if (sent_.size() >= 2) break;
  }
  EXPECT_GE(SteadyNow() - first, absl::Milliseconds(900));
  EXPECT_EQ(Await(2)[1].gpus(0).uuid(), "GPU-a");
}

TEST_F(HealthReporterTest, WhatWasNotHeardIsSaidAgainWithTheNextStep) {
  {
    absl::MutexLock lock(&mutex_);
    answer_ = absl::UnavailableError("no service");
  }
  const absl::Time begin = SteadyNow();
  Set("GPU-a");
  Await(1);
  for (bool again = false; !again && SteadyNow() < begin + absl::Seconds(30);) {
    Set("GPU-a");
    absl::MutexLock lock(&mutex_);
    again = sent_.size() >= 5;
  }
  Await(5);
}

TEST(ControlError, SaysWhatWasDoneWhereAndWhatToDo) {
  const absl::Status status = FromGrpc(grpc::Status(grpc::PERMISSION_DENIED, "no admin"), "drain", "h:1");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("could not drain at h:1: no admin. Control is for admins"));
}

}  // namespace
}  // namespace sassay::monitor
