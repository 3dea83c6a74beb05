// A cluster of real processes: front ends, nodes with emulated devices, clients. Nodes and front ends are killed,
// paused and drained while they work, and every accepted submission ends with the one verdict that its candidate
// deserves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "profiler_service/store/testing/postgres_server.h"
#include "tests/end_to_end/cluster_fixture.h"
#include "tests/end_to_end/process_tree.h"

namespace sassay::testing {
namespace {

using sassay::v1::Event;
using ::testing::HasSubstr;

constexpr int kSubmissions = 40;
constexpr int kClients = 6;
// Of a candidate that never ends by itself.
constexpr absl::Duration kLong = absl::Seconds(5);

// Counts what clients see, and wakes whoever waits for some of it.
class Progress {
 public:
  void OnEvent(const Event& event) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++events_;
    if (event.has_verdict()) ++verdicts_;
  }
  // Waits for `count` more events; false if none came for long, or all is over.
  bool Await(int count) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const int target = events_ + count;
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return events_ >= target || verdicts_ >= kSubmissions;
    };
    return mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Minutes(2)) && verdicts_ < kSubmissions;
  }

 private:
  absl::Mutex mutex_;
  int events_ ABSL_GUARDED_BY(mutex_) = 0;
  int verdicts_ ABSL_GUARDED_BY(mutex_) = 0;
};

class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override { AdoptOrphans(); }
  void Begin(const std::string& store, int front_ends, int nodes, const std::vector<std::string>& of_nodes = {}) {
    cluster_ = std::make_unique<Cluster>(store);
    for (int i = 0; i < front_ends; ++i) {
      const auto front_end = cluster_->AddFrontEnd();
      ASSERT_TRUE(front_end.ok()) << front_end.status();
      front_ends_.push_back(*front_end);
    }
    for (int i = 0; i < nodes; ++i) AddNode(of_nodes);
    for (Candidate& candidate : candidates_) {
      const absl::Status compiled = cluster_->Compile(candidate);
      ASSERT_TRUE(compiled.ok()) << compiled;
    }
  }
  Member& AddNode(const std::vector<std::string>& arguments = {}) {
    const auto node = cluster_->AddNode(arguments);
    EXPECT_TRUE(node.ok()) << node.status();
    return **node;
  }

  const Candidate& CandidateOf(size_t turn) const { return candidates_[turn % candidates_.size()]; }

  // All clients at once, while `disturb` does what it does, in this thread.
  void PlayAll(const std::function<void()>& disturb) {
    turns_.resize(kSubmissions);
    std::vector<std::thread> clients;
    std::atomic<size_t> next = 0;
    for (int i = 0; i < kClients; ++i) {
      clients.emplace_back([&] {
        for (size_t turn = next++; turn < turns_.size(); turn = next++) {
          // Who follows is connected to another front end than who submitted, where there are several.
          const Member& submit_at = *front_ends_[turn % front_ends_.size()];
          const Member& attach_at = *front_ends_[(turn + 1) % front_ends_.size()];
          turns_[turn] = cluster_->Play(CandidateOf(turn), absl::StrCat("turn-", turn), submit_at, attach_at,
                                        absl::ZeroDuration(), [this](const Event& event) { progress_.OnEvent(event); });
        }
      });
    }
    disturb();
    for (std::thread& client : clients) client.join();
  }

  void ExpectAllDeserved() {
    std::set<std::string> ids;
    for (size_t i = 0; i < turns_.size(); ++i) {
      ExpectOneLife(turns_[i], CandidateOf(i));
      ids.insert(turns_[i].id);
      const Turn later = cluster_->Attach(turns_[i].id, *front_ends_.back());
      ExpectOneLife(later, CandidateOf(i));
      EXPECT_EQ(later.verdict.SerializeAsString(), turns_[i].verdict.SerializeAsString());
    }
    EXPECT_EQ(ids.size(), turns_.size());
  }

  std::string Logs() const {
    std::string logs;
    for (const Member* member : front_ends_) absl::StrAppend(&logs, "---- front end\n", member->Log());
    for (size_t i = 0; i < cluster_->nodes(); ++i) {
      absl::StrAppend(&logs, "---- node ", i, "\n", cluster_->node(i).Log());
    }
    return logs;
  }

  std::vector<Candidate> candidates_ = {{"agent/examples/gemm_naive.cu", "CORRECT"},
                                        {"tests/hostile/numerics/wrong_transposition.cu", "INCORRECT_NUMERICAL"},
                                        {"tests/hostile/memory/store_past_output.cu", "SANITIZER_ERROR"},
                                        {"tests/hostile/hang/trap.cu", "RUNTIME_ERROR"}};
  std::unique_ptr<Cluster> cluster_;
  std::vector<Member*> front_ends_;
  std::vector<Turn> turns_;
  Progress progress_;
};

TEST_F(ClusterTest, AFrontEndAndANodeBringOneSubmissionToItsVerdict) {
  Begin("", 1, 1);
  const Turn turn = cluster_->Play(candidates_[0], "one", *front_ends_[0], *front_ends_[0]);
  ExpectOneLife(turn, candidates_[0]);
  if (HasFailure()) std::cout << Logs();
  EXPECT_EQ(cluster_->node(0).Drain(), 0);
  EXPECT_EQ(front_ends_[0]->Drain(), 0);
}

TEST_F(ClusterTest, FortySubmissionsSurviveTheDeathOfANodeAndOfTheFrontEnd) {
  Begin("", 1, 3);
  PlayAll([this] {
    if (!progress_.Await(20)) return;
    cluster_->node(0).Kill();
    if (!progress_.Await(10)) return;
    front_ends_[0]->Kill();
    const absl::Status back = front_ends_[0]->Start();
    EXPECT_TRUE(back.ok()) << back;
    if (!progress_.Await(10)) return;
    EXPECT_EQ(cluster_->node(1).Drain(), 0);
    const absl::Status again = cluster_->node(0).Start();
    EXPECT_TRUE(again.ok()) << again;
  });
  ExpectAllDeserved();
  if (HasFailure()) std::cout << Logs();
}

TEST_F(ClusterTest, ANodeThatStoodStillPastItsLeasePublishesNothing) {
  Begin("", 1, 1);
  Candidate endless = {"tests/hostile/hang/counts_for_ever.cu", "TIMEOUT"};
  ASSERT_TRUE(cluster_->Compile(endless).ok());
  absl::Notification runs;
  Turn turn;
  std::thread client([&] {
    turn = cluster_->Play(endless, "long", *front_ends_[0], *front_ends_[0], kLong, [&](const Event& event) {
      const bool evaluates = event.has_stage_started() && event.stage_started().stage() == sassay::v1::STAGE_EVALUATE;
      if (evaluates && !runs.HasBeenNotified()) runs.Notify();
    });
  });
  EXPECT_TRUE(runs.WaitForNotificationWithTimeout(absl::Minutes(2)));
  cluster_->node(0).Pause();
  AddNode();
  client.join();  // the other one has run it
  ExpectOneLife(turn, endless);
  EXPECT_EQ(turn.verdict.attempt(), 2u);
  cluster_->node(0).Continue();
  // It works on, once it has learned that its lease is lost: what comes next is one more turn for either.
  ExpectOneLife(cluster_->Play(candidates_[0], "next", *front_ends_[0], *front_ends_[0]), candidates_[0]);
  EXPECT_EQ(cluster_->node(0).Drain(), 0);
  EXPECT_THAT(cluster_->node(0).Log(), HasSubstr("publishes nothing"));
  const Turn later = cluster_->Attach(turn.id, *front_ends_[0]);
  ExpectOneLife(later, endless);
  EXPECT_EQ(later.verdict.SerializeAsString(), turn.verdict.SerializeAsString());
  if (HasFailure()) std::cout << Logs();
}

TEST_F(ClusterTest, ADrainedNodeGivesBackWhatItRunsAndLeaves) {
  Begin("", 1, 1, {"--drain", "1s"});
  Candidate endless = {"tests/hostile/hang/counts_for_ever.cu", "TIMEOUT"};
  ASSERT_TRUE(cluster_->Compile(endless).ok());
  absl::Notification runs;
  Turn turn;
  std::thread client([&] {
    turn =
        cluster_->Play(endless, "long", *front_ends_[0], *front_ends_[0], absl::Seconds(20), [&](const Event& event) {
          const bool evaluates =
              event.has_stage_started() && event.stage_started().stage() == sassay::v1::STAGE_EVALUATE;
          if (evaluates && !runs.HasBeenNotified()) runs.Notify();
        });
  });
  EXPECT_TRUE(runs.WaitForNotificationWithTimeout(absl::Minutes(2)));
  EXPECT_EQ(cluster_->node(0).Drain(), 0);
  AddNode();
  client.join();
  ExpectOneLife(turn, endless);
  EXPECT_EQ(turn.verdict.attempt(), 2u);
  bool given_back = false;
  for (const Event& event : turn.events) {
    given_back |= event.has_retrying() && event.retrying().reason() == "the service was stopped";
  }
  EXPECT_TRUE(given_back);
  if (HasFailure()) std::cout << Logs();
}

TEST_F(ClusterTest, ThreeFrontEndsOnPostgresqlAreOneService) {
  const auto server = store::PostgresServer::OfThisProgram();
  if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status();
  ASSERT_TRUE(server.ok()) << server.status();
  const auto database = (*server)->NewDatabase();
  ASSERT_TRUE(database.ok()) << database.status();
  Begin(*database, 3, 3);
  PlayAll([this] {
    if (!progress_.Await(20)) return;
    front_ends_[1]->Kill();
    if (!progress_.Await(5)) return;
    cluster_->node(0).Kill();
    const absl::Status back = front_ends_[1]->Start();
    EXPECT_TRUE(back.ok()) << back;
  });
  ExpectAllDeserved();
  if (HasFailure()) std::cout << Logs();
}

}  // namespace
}  // namespace sassay::testing
