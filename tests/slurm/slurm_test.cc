// A cluster whose nodes are jobs of a real Slurm (deploy/slurm/sassay-node.sbatch): a front end outside, clients with
// the real agent. Jobs are cancelled, run out of time, are queued again, and lose their process or their host, while
// they work; every accepted submission ends with the one verdict that its candidate deserves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/end_to_end/cluster_fixture.h"
#include "tests/end_to_end/process_tree.h"
#include "tests/slurm/slurm_cluster.h"

namespace sassay::testing {
namespace {

using sassay::v1::Event;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kPatience = absl::Minutes(3);
// A test would run out of time if it had to wait until such a lease is over.
constexpr char kLongLease[] = "5m";
constexpr char kShortLease[] = "4s";
// Of the candidate that runs until it is stopped: longer than the drain of a job that is cancelled here.
constexpr absl::Duration kHang = absl::Seconds(8);
constexpr char kDrain[] = "1s";

class SlurmTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const absl::Status missing = SlurmCluster::Missing(); !missing.ok()) GTEST_SKIP() << missing;
    AdoptOrphans();
  }

  void TearDown() override {
    if (!HasFailure() || slurm_ == nullptr) return;
    ADD_FAILURE() << slurm_->Logs() << "---- front end\n" << front_end_->Log();
  }

  void Begin(int hosts) {
    cluster_ = std::make_unique<Cluster>();
    const auto front_end = cluster_->AddFrontEnd();
    ASSERT_TRUE(front_end.ok()) << front_end.status();
    front_end_ = *front_end;
    SlurmOptions options;
    options.hosts = hosts;
    options.gpus_per_host = 1;
    auto slurm = SlurmCluster::Start(options);
    ASSERT_TRUE(slurm.ok()) << slurm.status();
    slurm_ = *std::move(slurm);
    for (Candidate& candidate : candidates_) ASSERT_EQ(cluster_->Compile(candidate), absl::OkStatus());
    ASSERT_EQ(cluster_->Compile(hanging_), absl::OkStatus());
  }

  // A node as a user would start it. Its job's id; the node has joined, and its monitor has found it.
  std::string StartNode(const std::string& lease, const std::vector<std::string>& slurm_arguments = {}) {
    std::vector<std::string> arguments = {"--gres=gpu:1"};
    arguments.insert(arguments.end(), slurm_arguments.begin(), slurm_arguments.end());
    arguments.insert(arguments.end(), {SourcePath("deploy/slurm/sassay-node.sbatch"), "--device", "emulated:sm_90a",
                                       "--join", front_end_->address(), "--join-token-file",
                                       cluster_->TokenFile("gpus"), "--lease", lease, "--drain", kDrain});
    const auto id =
        slurm_->Submit(arguments, {{"PATH", absl::StrCat(SASSAY_PROGRAMS, ":", slurm_->environment().at("PATH"))},
                                   {"SASSAY_STATE", slurm_->folder() + "/state"}});
    EXPECT_TRUE(id.ok()) << id.status();
    EXPECT_EQ(slurm_->WaitForOutput(id.value_or(""), "'reliability-monitor' watches", kPatience), absl::OkStatus());
    return id.value_or("");
  }

  Turn Play(const Candidate& candidate, const std::string& request_id, absl::Duration deadline = absl::ZeroDuration(),
            const std::function<void(const Event&)>& on_event = {}) const {
    return cluster_->Play(candidate, request_id, *front_end_, *front_end_, deadline, on_event);
  }

  // Submissions of all kinds at once, while `disturb` does what it does in this thread, from when the third of them is
  // being run.
  void PlayWhile(const std::string& prefix, int count, const std::function<void()>& disturb) {
    std::vector<Turn> turns(count);
    std::vector<std::thread> clients;
    absl::Mutex mutex;
    int started = 0;
    for (int i = 0; i < count; ++i) {
      clients.emplace_back([&, i] {
        turns[i] = Play(CandidateOf(i), absl::StrCat(prefix, i), absl::ZeroDuration(), [&](const Event& event) {
          absl::MutexLock lock(&mutex);
          started += event.has_stage_started();
        });
      });
    }
    {
      absl::MutexLock lock(&mutex);
      const auto enough = [&] { return started >= 3; };
      EXPECT_TRUE(mutex.AwaitWithTimeout(absl::Condition(&enough), kPatience));
    }
    disturb();
    for (std::thread& client : clients) client.join();
    for (int i = 0; i < count; ++i) ExpectOneLife(turns[i], CandidateOf(i));
  }

  const Candidate& CandidateOf(int turn) const { return candidates_[turn % candidates_.size()]; }

  std::vector<Candidate> candidates_ = {{"agent/examples/gemm_naive.cu", "CORRECT"},
                                        {"tests/hostile/numerics/wrong_transposition.cu", "INCORRECT_NUMERICAL"},
                                        {"tests/hostile/memory/store_past_output.cu", "SANITIZER_ERROR"},
                                        {"tests/hostile/hang/trap.cu", "RUNTIME_ERROR"}};
  Candidate hanging_ = {"tests/hostile/hang/counts_for_ever.cu", "TIMEOUT"};
  std::unique_ptr<Cluster> cluster_;
  Member* front_end_ = nullptr;
  // Ends before the front end does.
  std::unique_ptr<SlurmCluster> slurm_;
};

TEST_F(SlurmTest, WhatANodeHasWhenItsJobIsCancelledRunsElsewhereAtOnce) {
  Begin(2);
  const std::string first = StartNode(kLongLease);
  // The first node alone takes it, and is cancelled while it runs.
  absl::Notification running;
  std::atomic<bool> retried = false;
  Turn hanging;
  std::thread client([&] {
    hanging = Play(hanging_, "hanging", kHang, [&](const Event& event) {
      if (event.has_stage_started() && !running.HasBeenNotified()) running.Notify();
      if (event.has_retrying()) retried = true;
    });
  });
  EXPECT_TRUE(running.WaitForNotificationWithTimeout(kPatience));
  const std::string second = StartNode(kLongLease);
  const absl::Time cancelled = absl::Now();
  EXPECT_TRUE(slurm_->Run({"scancel", first}).ok());
  PlayWhile("beside-", 8, [] {});
  client.join();
  ExpectOneLife(hanging, hanging_);
  EXPECT_TRUE(retried) << "it was to be given back";
  EXPECT_LT(absl::Now() - cancelled, absl::Minutes(2)) << "its lease was waited for";
  EXPECT_EQ(slurm_->WaitForState(first, "CANCELLED", kPatience), absl::OkStatus());
  // It ended by itself: nothing had to be killed.
  EXPECT_EQ((*slurm_->Job(first))["ExitCode"], "0:0") << slurm_->Output(first);
  EXPECT_TRUE(slurm_->Run({"scancel", second}).ok());
  EXPECT_EQ(slurm_->WaitForState(second, "CANCELLED", kPatience), absl::OkStatus());
}

TEST_F(SlurmTest, AKilledProcessAndADeadHostLoseTheirLeasesAndNoVerdict) {
  Begin(3);
  const std::string killed = StartNode(kShortLease, {"--nodelist=n1"}),
                    unlucky = StartNode(kShortLease, {"--nodelist=n2", "--requeue"});
  StartNode(kShortLease, {"--nodelist=n3"});
  PlayWhile("killed-", 16, [&] {
    for (pid_t pid : slurm_->Processes("n1", "profiler-servic")) kill(pid, SIGKILL);
    EXPECT_EQ(slurm_->WaitForState(killed, "FAILED", kPatience), absl::OkStatus());
    slurm_->KillHost("n2");
  });
  // Slurm queues the job of the dead host again; here it may go back to that host alone.
  EXPECT_EQ(slurm_->StartHost("n2"), absl::OkStatus());
  EXPECT_EQ(slurm_->WaitForOutput(unlucky, "start 2,", kPatience), absl::OkStatus());
  PlayWhile("later-", 4, [] {});
}

TEST_F(SlurmTest, ANodeWhoseTimeIsOverGivesBackAndComesBack) {
  Begin(1);
  // Slurm looks for such jobs twice a minute, so its signal comes within the first half.
  const std::string id = StartNode(kLongLease, {"--time=1", "--signal=B:USR1@50"});
  PlayWhile("before-", 8, [&] {
    EXPECT_EQ(slurm_->WaitForOutput(id, "everything is given back", kPatience), absl::OkStatus());
    // There is no other node: whatever is submitted waits for this one.
    PlayWhile("between-", 4, [&] { EXPECT_THAT(slurm_->Output(id), HasSubstr("start 2,")); });
  });
  // Slurm says so in a job's output when it has to end it.
  EXPECT_THAT(slurm_->Output(id), Not(HasSubstr("DUE TO TIME LIMIT"))) << "the node was to end ahead of that";
}

}  // namespace
}  // namespace sassay::testing
