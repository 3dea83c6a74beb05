#include "profiler_service/wire/runner_pool.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>
#include <thread>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "common/base/steady_time.h"
#include "profiler_service/runner/fake_runner.h"
#include "profiler_service/wire/kill_switch.h"

namespace sassay::wire {
namespace {

using runner::BundleLaunching;
using runner::FakeRunnerOptions;

constexpr char kDevice[] = "emulated:sm_90a";

absl::Time Soon() { return absl::Now() + absl::Seconds(20); }

std::unique_ptr<RunnerClient> ReadyToRun(RunnerPool& pool, const std::string& kernel) {
  auto runner = pool.Acquire(kDevice, worker::RUN_MODE_PLAIN, Soon());
  EXPECT_TRUE(runner.ok()) << runner.status();
  EXPECT_TRUE((*runner)->Load(BundleLaunching(kernel), worker::RUN_MODE_PLAIN).ok());
  EXPECT_TRUE((*runner)->Bind({}, {}).ok());
  EXPECT_TRUE((*runner)->Setup(1, absl::Seconds(5)).ok());
  return *std::move(runner);
}

TEST(RunnerPool, RunnerIsReadyAndAnswers) {
  RunnerPool pool(FakeRunnerOptions());
  auto runner = ReadyToRun(pool, "good");
  EXPECT_EQ(runner->versions().device(), "fake");
  const auto reply = runner->Steady(1, absl::Seconds(5));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->outcome(), worker::RUN_OUTCOME_OK);
}

TEST(RunnerPool, OnlyARunnerThatCountsMayAnswerAtLength) {
  for (const auto& [mode, bytes] :
       {std::pair(worker::RUN_MODE_PLAIN, kMaxShortReplyBytes),
        std::pair(worker::RUN_MODE_CHECKED, kMaxShortReplyBytes),
        std::pair(worker::RUN_MODE_TIMED, kMaxShortReplyBytes), std::pair(worker::RUN_MODE_COUNTED, kMaxReplyBytes)}) {
    EXPECT_EQ(RunnerWorkerOptions(FakeRunnerOptions(), kDevice, mode).most_reply_bytes, bytes) << mode;
  }
}

TEST(RunnerPool, EveryCallerGetsARunnerOfItsOwn) {
  RunnerPool pool(FakeRunnerOptions());
  pool.Keep(kDevice, worker::RUN_MODE_PLAIN, 2);
  std::set<pid_t> pids;
  std::vector<std::unique_ptr<RunnerClient>> runners;
  for (int i = 0; i < 6; ++i) {
    auto runner = pool.Acquire(kDevice, worker::RUN_MODE_PLAIN, Soon());
    ASSERT_TRUE(runner.ok()) << runner.status();
    pids.insert((*runner)->process().pid());
    runners.push_back(*std::move(runner));
  }
  EXPECT_EQ(pids.size(), 6u);
}

// What was told of runners.
struct Heard {
  void operator()(absl::string_view device, Happening happening, absl::string_view reason) {
    absl::MutexLock lock(&mutex);
    happenings[std::string(device)].push_back(happening);
    reasons.emplace_back(reason);
  }
  int Count(const std::string& device, Happening happening) {
    absl::MutexLock lock(&mutex);
    const std::vector<Happening>& all = happenings[device];
    return static_cast<int>(std::count(all.begin(), all.end(), happening));
  }
  absl::Mutex mutex;
  std::map<std::string, std::vector<Happening>> happenings;
  std::vector<std::string> reasons;
};

RunnerPoolOptions Watched(Heard& heard) {
  RunnerPoolOptions options = FakeRunnerOptions();
  options.live = LiveRunners::Create([&heard](absl::string_view device, Happening happening, pid_t,
                                              absl::string_view reason) { heard(device, happening, reason); });
  return options;
}

TEST(RunnerPool, EndingADevicesRunnersTakesThemFromWhoeverHasThemAndLeavesOtherDevicesAlone) {
  Heard heard;
  RunnerPool pool(Watched(heard));
  pool.Keep("emulated:sm_90a#1", worker::RUN_MODE_PLAIN, 1);
  ASSERT_TRUE(pool.AwaitSpareForTest("emulated:sm_90a#1", worker::RUN_MODE_PLAIN, Soon()));
  auto in_use = pool.Acquire("emulated:sm_90a#1", worker::RUN_MODE_PLAIN, Soon());
  ASSERT_TRUE(in_use.ok());
  ASSERT_TRUE(pool.AwaitSpareForTest("emulated:sm_90a#1", worker::RUN_MODE_PLAIN, Soon()));
  auto elsewhere = ReadyToRun(pool, "good");
  EXPECT_EQ(pool.EndAll("emulated:sm_90a#1", "the judge hangs"), 2u) << "the one in use and the spare";
  const auto lost = (*in_use)->Load(BundleLaunching("good"), worker::RUN_MODE_PLAIN);
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kUnavailable) << "not CANCELLED: nobody who had it asked for it";
  EXPECT_TRUE(absl::StrContains(lost.status().message(), "was ended: the judge hangs")) << lost.status();
  EXPECT_TRUE(elsewhere->Steady(1, absl::Seconds(5)).ok());
  EXPECT_TRUE(pool.AwaitSpareForTest("emulated:sm_90a#1", worker::RUN_MODE_PLAIN, Soon())) << "spares come back";
  in_use->reset();
  EXPECT_EQ(heard.Count("emulated:sm_90a#1", Happening::kEnded), 2);
  EXPECT_EQ(heard.Count("emulated:sm_90a#1", Happening::kDied), 0);
  EXPECT_EQ(heard.Count("emulated:sm_90a", Happening::kEnded), 0);
}

TEST(RunnerPool, ACallThatIsUnderWayReturnsAtOnceWhenItsRunnerIsTakenAway) {
  RunnerPool pool(FakeRunnerOptions());
  const auto runner = ReadyToRun(pool, "never_ends");
  std::thread taker([&] {
    while (pool.live().Look(kDevice).overdue == absl::ZeroDuration()) std::this_thread::yield();
    pool.EndAll(kDevice, "it is late");
  });
  const auto lost = runner->Steady(1, absl::Milliseconds(1));
  taker.join();
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kUnavailable) << lost.status();
}

TEST(RunnerPool, WhoWatchesKnowsTheRunnersProcessesUntilTheyHaveEnded) {
  RunnerPool pool(FakeRunnerOptions());
  EXPECT_TRUE(pool.live().Look(kDevice).pids.empty());
  auto runner = ReadyToRun(pool, "good");
  const std::vector<pid_t> pids = pool.live().Look(kDevice).pids;
  ASSERT_FALSE(pids.empty());
  EXPECT_EQ(runner->pid(), pids.back());
  for (const pid_t pid : pids) EXPECT_EQ(kill(pid, 0), 0) << pid;
  EXPECT_TRUE(pool.live().Look("cuda:GPU-1").pids.empty());
  runner.reset();
  const absl::Time end = Soon();
  while (!pool.live().Look(kDevice).pids.empty() && absl::Now() < end) std::this_thread::yield();
  EXPECT_TRUE(pool.live().Look(kDevice).pids.empty());
}

TEST(RunnerPool, WhoWatchesHearsHowRunnersEnd) {
  Heard heard;
  RunnerPool pool(Watched(heard));
  ReadyToRun(pool, "good")->Steady(1, absl::Seconds(5)).status().IgnoreError();
  EXPECT_EQ(heard.Count(kDevice, Happening::kStarted), 1);
  EXPECT_EQ(heard.Count(kDevice, Happening::kEnded), 1);
  ReadyToRun(pool, "crashes")->Steady(1, absl::Seconds(5)).status().IgnoreError();
  EXPECT_EQ(heard.Count(kDevice, Happening::kDied), 1);
  EXPECT_FALSE(pool.Acquire("cuda:broken", worker::RUN_MODE_PLAIN, Soon()).ok());
  EXPECT_EQ(heard.Count("cuda:broken", Happening::kFailedToStart), 1);
  EXPECT_EQ(heard.Count("cuda:broken", Happening::kEnded), 0);
}

TEST(RunnerPool, TheRunnerOnWhichACandidateWentWrongIsRemembered) {
  RunnerPool pool(FakeRunnerOptions());
  EXPECT_EQ(pool.live().last_troubled(kDevice), 0);
  const auto runner = ReadyToRun(pool, "fails");
  ASSERT_TRUE(runner->Steady(1, absl::Seconds(5)).ok());
  EXPECT_EQ(pool.live().last_troubled(kDevice), runner->pid());
}

TEST(RunnerPool, DeadSpareIsNeverHandedOut) {
  RunnerPool pool(FakeRunnerOptions());
  pool.Keep(kDevice, worker::RUN_MODE_PLAIN, 1);
  for (int i = 0; i < 5; ++i) {
    pool.KillSparesForTest();
    auto runner = ReadyToRun(pool, "good");
    EXPECT_TRUE(runner->Steady(1, absl::Seconds(5)).ok());
  }
}

TEST(RunnerPool, RunnerThatCrashesIsLostWithItsSignal) {
  RunnerPool pool(FakeRunnerOptions());
  const auto lost = ReadyToRun(pool, "crashes")->Steady(1, absl::Seconds(5));
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StrContains(lost.status().message(), "runner")) << lost.status();
}

TEST(RunnerPool, RunnerThatCannotStartIsUnavailable) {
  RunnerPool pool(FakeRunnerOptions());
  pool.Keep("cuda:broken", worker::RUN_MODE_PLAIN, 1);
  EXPECT_EQ(pool.Acquire("cuda:broken", worker::RUN_MODE_PLAIN, Soon()).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_GE(pool.deaths(), 1u);
}

TEST(RunnerPool, DeviceOnWhichNoRunnerComesUpKeepsNoOtherWaiting) {
  RunnerPool pool(FakeRunnerOptions());
  pool.Keep("cuda:silent", worker::RUN_MODE_PLAIN, 1);
  EXPECT_FALSE(pool.AwaitSpareForTest("cuda:silent", worker::RUN_MODE_PLAIN, SteadyNow() + absl::Milliseconds(200)));
  pool.Keep(kDevice, worker::RUN_MODE_PLAIN, 1);
  EXPECT_TRUE(pool.AwaitSpareForTest(kDevice, worker::RUN_MODE_PLAIN, SteadyNow() + absl::Seconds(20)));
}

TEST(RunnerPool, FreshRunnerIsTheOneThatTheNextCallerGets) {
  RunnerPool pool(FakeRunnerOptions());
  EXPECT_TRUE(pool.AddFresh(kDevice, worker::RUN_MODE_PLAIN, Soon()).ok());
  EXPECT_FALSE(pool.AwaitSpareForTest(kDevice, worker::RUN_MODE_PLAIN, absl::InfinitePast())) << "none is to be kept";
  pool.Keep(kDevice, worker::RUN_MODE_PLAIN, 1);
  ASSERT_TRUE(pool.AwaitSpareForTest(kDevice, worker::RUN_MODE_PLAIN, SteadyNow() + absl::Seconds(20)));
  const RunnerPool::Quiet quiet(pool, kDevice);
  pool.KillSparesForTest();
  ASSERT_TRUE(pool.AddFresh(kDevice, worker::RUN_MODE_PLAIN, Soon()).ok());
  EXPECT_TRUE(pool.Acquire(kDevice, worker::RUN_MODE_PLAIN, Soon()).ok());
  EXPECT_EQ(pool.deaths(), 0u) << "the spare from before, which is dead, was not tried";
}

TEST(RunnerPool, ADeviceThatTakesNoRunnerIsSaidWhenAFreshOneIsAskedFor) {
  RunnerPool pool(FakeRunnerOptions());
  EXPECT_EQ(pool.AddFresh("cuda:broken", worker::RUN_MODE_PLAIN, Soon()).code(), absl::StatusCode::kUnavailable);
}

TEST(RunnerPool, ASpareThatWorksConfirmsTheDeviceAndIsTheNextOne) {
  RunnerPool pool(FakeRunnerOptions());
  pool.Keep(kDevice, worker::RUN_MODE_PLAIN, 1);
  ASSERT_TRUE(pool.AwaitSpareForTest(kDevice, worker::RUN_MODE_PLAIN, SteadyNow() + absl::Seconds(20)));
  const RunnerPool::NoRefill hold(pool, kDevice);
  EXPECT_TRUE(pool.Confirm(kDevice, worker::RUN_MODE_PLAIN, Soon()).ok());
  EXPECT_TRUE(pool.Acquire(kDevice, worker::RUN_MODE_PLAIN, Soon()).ok());
  EXPECT_EQ(pool.started().Total(worker::RUN_MODE_PLAIN), 1u);
}

TEST(RunnerPool, WithoutASpareThatWorksAFreshRunnerConfirmsTheDevice) {
  RunnerPool pool(FakeRunnerOptions());
  pool.Keep(kDevice, worker::RUN_MODE_PLAIN, 1);
  ASSERT_TRUE(pool.AwaitSpareForTest(kDevice, worker::RUN_MODE_PLAIN, SteadyNow() + absl::Seconds(20)));
  const RunnerPool::NoRefill hold(pool, kDevice);
  pool.KillSparesForTest();
  EXPECT_TRUE(pool.Confirm(kDevice, worker::RUN_MODE_PLAIN, Soon()).ok());
  EXPECT_EQ(pool.started().Total(worker::RUN_MODE_PLAIN), 2u);
  EXPECT_EQ(pool.deaths(), 1u);
  EXPECT_TRUE(pool.Acquire(kDevice, worker::RUN_MODE_PLAIN, Soon()).ok());
  EXPECT_EQ(pool.started().Total(worker::RUN_MODE_PLAIN), 2u);
  EXPECT_EQ(pool.Confirm("cuda:broken", worker::RUN_MODE_PLAIN, Soon()).code(), absl::StatusCode::kUnavailable);
}

TEST(RunnerPool, AContextHasTheChannelsOfOneStream) {
  for (const worker::RunMode mode : {worker::RUN_MODE_PLAIN, worker::RUN_MODE_COUNTED, worker::RUN_MODE_TIMED}) {
    EXPECT_EQ(RunnerWorkerOptions(FakeRunnerOptions(), kDevice, mode).environment["CUDA_DEVICE_MAX_CONNECTIONS"], "1");
  }
}

TEST(RunnerPool, ARunnerSeesItsOwnGpuAlone) {
  const auto visible = [](const char* device) {
    const auto environment = RunnerWorkerOptions(FakeRunnerOptions(), device, worker::RUN_MODE_PLAIN).environment;
    const auto found = environment.find("CUDA_VISIBLE_DEVICES");
    return found == environment.end() ? "all" : found->second;
  };
  EXPECT_EQ(visible("cuda:GPU-1234"), "GPU-1234");
  EXPECT_EQ(visible(kDevice), "all");
}

TEST(RunnerPool, EveryRunnerThatIsStartedCounts) {
  RunnerPool pool(FakeRunnerOptions());
  EXPECT_EQ(pool.started().Describe(), "");
  ASSERT_TRUE(pool.Acquire(kDevice, worker::RUN_MODE_PLAIN, Soon()).ok());
  ASSERT_TRUE(StartRunner(pool.options(), kDevice, worker::RUN_MODE_CHECKED, Soon()).ok()) << "as under a tool";
  EXPECT_FALSE(pool.Acquire("cuda:broken", worker::RUN_MODE_PLAIN, Soon()).ok());
  EXPECT_EQ(pool.started().Total(worker::RUN_MODE_PLAIN), 2u);
  EXPECT_EQ(pool.started().Total(worker::RUN_MODE_CHECKED), 1u);
  EXPECT_EQ(pool.started().Describe(),
            "cuda:broken: 1 runners started: 1 PLAIN\nemulated:sm_90a: 2 runners started: 1 PLAIN, 1 CHECKED");
}

TEST(RunnerPool, QuietDeviceStillServesCallers) {
  RunnerPool pool(FakeRunnerOptions());
  pool.Keep(kDevice, worker::RUN_MODE_PLAIN, 1);
  const RunnerPool::Quiet quiet(pool, kDevice);
  EXPECT_TRUE(pool.Acquire(kDevice, worker::RUN_MODE_PLAIN, Soon()).ok());
}

TEST(RunnerPool, NoSpareIsStartedWhileSomebodyHoldsRefills) {
  RunnerPool pool(FakeRunnerOptions());
  auto hold = std::make_unique<RunnerPool::NoRefill>(pool, "cuda:broken");
  pool.Keep("cuda:broken", worker::RUN_MODE_PLAIN, 1);
  { const RunnerPool::Quiet quiet(pool, "cuda:broken"); }
  EXPECT_EQ(pool.deaths(), 0u) << "each start would be one";
  hold.reset();
  while (pool.deaths() == 0) std::this_thread::yield();
}

TEST(RunnerPool, AnEmptyShelfIsFilledBeforeALargeOneIsFull) {
  RunnerPool pool(FakeRunnerOptions());
  {
    const RunnerPool::NoRefill hold(pool, kDevice);
    pool.Keep(kDevice, worker::RUN_MODE_PLAIN, 6);
    pool.Keep(kDevice, worker::RUN_MODE_TIMED, 1);
  }
  ASSERT_TRUE(pool.AwaitSpareForTest(kDevice, worker::RUN_MODE_TIMED, SteadyNow() + absl::Seconds(20)));
  EXPECT_LE(pool.started().Total(worker::RUN_MODE_PLAIN), 2u);
}

TEST(KillSwitch, EndsAPendingCallWithinASecondAndEveryLaterOne) {
  RunnerPool pool(FakeRunnerOptions());
  KillSwitch kill_switch;
  auto runner = ReadyToRun(pool, "never_ends");
  const KillSwitch::Guard guard(&kill_switch, *runner);
  absl::Time pulled_at;
  std::thread canceller([&] {
    pulled_at = absl::Now();
    kill_switch.Pull();
  });
  const auto cancelled = runner->Steady(1, absl::Seconds(60));
  canceller.join();
  EXPECT_EQ(cancelled.status().code(), absl::StatusCode::kCancelled) << cancelled.status();
  EXPECT_LT(absl::Now() - pulled_at, absl::Seconds(1));
  auto other = ReadyToRun(pool, "good");
  const KillSwitch::Guard late(&kill_switch, *other);
  EXPECT_EQ(other->Steady(1, absl::Seconds(5)).status().code(), absl::StatusCode::kCancelled);
}

TEST(RunnerClient, BundleIsReducedToThePlanAskedFor) {
  v1::Bundle bundle = BundleLaunching("good");
  bundle.add_plans()->set_workload("other");
  bundle.set_ptx("ptx");
  const auto one = WithOnlyPlan(bundle, "other");
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->plans_size(), 1);
  EXPECT_EQ(one->ptx(), "ptx");
  EXPECT_TRUE(absl::StrContains(WithOnlyPlan(bundle, "missing").status().message(), "w, other"));
}

}  // namespace
}  // namespace sassay::wire
