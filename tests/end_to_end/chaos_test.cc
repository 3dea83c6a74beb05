// A whole cluster under everything at once: front ends on one PostgreSQL and nodes with emulated devices are killed and
// paused at random, and so is the database, while many clients submit and follow. Every accepted submission ends with
// the one verdict that its candidate deserves, and nobody waits much longer than a lease.
//
// SASSAY_CHAOS="front_ends=3 nodes=8 submissions=2000 clients=20 seed=7" makes it as large as one likes; without it
// it is as small as a test may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/rpc/stopper.h"
#include "profiler_service/store/testing/postgres_server.h"
#include "tests/end_to_end/cluster_fixture.h"
#include "tests/end_to_end/process_tree.h"

namespace sassay::testing {
namespace {

using sassay::v1::Event;

// How large, by name.
class Plan {
 public:
  Plan() {
    const char* given = std::getenv("SASSAY_CHAOS");
    for (const absl::string_view entry : absl::StrSplit(given == nullptr ? "" : given, ' ', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
      int value = 0;
      if (numbers_.count(parts.first) == 0 || !absl::SimpleAtoi(parts.second, &value) || value < 0) {
        ADD_FAILURE() << "SASSAY_CHAOS: expected NAME=NUMBER of those in chaos_test.cc, got '" << entry << "'";
        continue;
      }
      numbers_[parts.first] = value;
    }
  }
  int operator[](const std::string& name) const { return numbers_.at(name); }

 private:
  std::map<std::string, int> numbers_ = {
      {"front_ends", 2}, {"nodes", 3}, {"submissions", 60}, {"clients", 6}, {"seed", 0}};
};

// What was done to whom, and how often.
struct Harm {
  std::atomic<int> node_kills = 0, node_pauses = 0, front_end_kills = 0, front_end_pauses = 0, database_kills = 0,
                   database_pauses = 0;
};

class ChaosTest : public ::testing::Test {
 protected:
  void SetUp() override { AdoptOrphans(); }

  void Begin(const std::string& database) {
    cluster_ = std::make_unique<Cluster>(database);
    for (int i = 0; i < plan_["front_ends"]; ++i) {
      const auto front_end = cluster_->AddFrontEnd();
      ASSERT_TRUE(front_end.ok()) << front_end.status();
      front_ends_.push_back(*front_end);
    }
    for (int i = 0; i < plan_["nodes"]; ++i) {
      const auto node = cluster_->AddNode();
      ASSERT_TRUE(node.ok()) << node.status();
      nodes_.push_back(*node);
    }
    for (Candidate& candidate : candidates_) {
      const absl::Status compiled = cluster_->Compile(candidate);
      ASSERT_TRUE(compiled.ok()) << compiled;
    }
  }

  const Candidate& CandidateOf(size_t turn) const { return candidates_[turn % candidates_.size()]; }

  void RunClients() {
    turns_.resize(static_cast<size_t>(plan_["submissions"]));
    std::vector<std::thread> clients;
    std::atomic<size_t> next = 0;
    for (int i = 0; i < plan_["clients"]; ++i) {
      clients.emplace_back([&] {
        for (size_t turn = next++; turn < turns_.size(); turn = next++) {
          const absl::Time begin = absl::Now();
          const Member& submit_at = *front_ends_[turn % front_ends_.size()];
          const Member& attach_at = *front_ends_[(turn + 1) % front_ends_.size()];
          turns_[turn] = cluster_->Play(CandidateOf(turn), absl::StrCat("turn-", turn), submit_at, attach_at);
          absl::MutexLock lock(&mutex_);
          took_.push_back(absl::Now() - begin);
        }
      });
    }
    for (std::thread& client : clients) client.join();
  }

  // Again and again, with pauses of chance between, until the clients are done.
  std::thread Disturb(uint64_t number, absl::Duration between, std::function<void(std::mt19937_64&)> act) {
    return std::thread([this, number, between, act = std::move(act)] {
      std::mt19937_64 random(seed_ + number);
      while (done_.Sleep(between * std::uniform_real_distribution<double>(0.5, 1.5)(random))) act(random);
    });
  }

  static size_t OneOf(size_t count, std::mt19937_64& random) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random);
  }
  static bool Coin(std::mt19937_64& random) { return std::bernoulli_distribution(0.5)(random); }
  // Up to twice a lease.
  void Wait(std::mt19937_64& random) {
    done_.Sleep(absl::Seconds(std::uniform_real_distribution<double>(0.2, 12)(random)));
  }

  void HarmANode(std::mt19937_64& random) {
    Member& node = *nodes_[OneOf(nodes_.size(), random)];
    if (Coin(random)) {
      ++harm_.node_pauses;
      node.Pause();
      Wait(random);
      return node.Continue();
    }
    ++harm_.node_kills;
    node.Kill();
    StartAgain(node);
  }

  void HarmAFrontEnd(std::mt19937_64& random) {
    Member& front_end = *front_ends_[OneOf(front_ends_.size(), random)];
    if (Coin(random)) {
      ++harm_.front_end_pauses;
      front_end.Pause();
      Wait(random);
      return front_end.Continue();
    }
    ++harm_.front_end_kills;
    front_end.Kill();
    StartAgain(front_end);
  }

  // Where the database is away meanwhile it may take several times.
  void StartAgain(Member& member) {
    absl::Status started;
    for (int i = 0; i < 10; ++i) {
      if (started = member.Start(); started.ok()) return;
    }
    ADD_FAILURE() << "does not start again: " << started;
  }

  void HarmTheDatabase(store::PostgresServer& server, std::mt19937_64& random) {
    if (Coin(random)) {
      ++harm_.database_pauses;
      server.Pause();
      done_.Sleep(absl::Seconds(std::uniform_real_distribution<double>(0.2, 3)(random)));
      return server.Continue();
    }
    ++harm_.database_kills;
    server.Crash();
    // Not while a process of the one before still holds its shared memory.
    absl::Status started = server.StartAgain();
    for (int i = 0; i < 20 && !started.ok(); ++i) started = server.StartAgain();
    EXPECT_TRUE(started.ok()) << started;
  }

  void ExpectAllDeserved() {
    std::map<uint32_t, int> attempts;
    for (size_t i = 0; i < turns_.size(); ++i) {
      ExpectOneLife(turns_[i], CandidateOf(i));
      const Turn later = cluster_->Attach(turns_[i].id, *front_ends_[i % front_ends_.size()]);
      ExpectOneLife(later, CandidateOf(i));
      EXPECT_EQ(later.verdict.SerializeAsString(), turns_[i].verdict.SerializeAsString());
      ++attempts[turns_[i].verdict.attempt()];
    }
    for (const auto& [attempt, count] : attempts) std::cout << "attempts " << attempt << ": " << count << "\n";
  }

  void Report(absl::Duration wall) {
    std::sort(took_.begin(), took_.end());
    const auto at = [this](double share) {
      return took_[static_cast<size_t>(share * static_cast<double>(took_.size() - 1))];
    };
    std::cout << absl::StrFormat(
        "seed %d: %d submissions of %d clients in %.1f s, %d front ends, %d nodes; nodes killed %d, paused %d; front "
        "ends killed %d, paused %d; database killed %d, paused %d\nfrom submission to verdict: median %.1f s, 99 %% "
        "%.1f s, longest %.1f s\n",
        seed_, turns_.size(), plan_["clients"], absl::ToDoubleSeconds(wall), plan_["front_ends"], plan_["nodes"],
        harm_.node_kills.load(), harm_.node_pauses.load(), harm_.front_end_kills.load(), harm_.front_end_pauses.load(),
        harm_.database_kills.load(), harm_.database_pauses.load(), absl::ToDoubleSeconds(at(0.5)),
        absl::ToDoubleSeconds(at(0.99)), absl::ToDoubleSeconds(at(1)));
  }

  const Plan plan_;
  const uint64_t seed_ = plan_["seed"] > 0 ? static_cast<uint64_t>(plan_["seed"]) : std::random_device{}();
  std::vector<Candidate> candidates_ = {{"agent/examples/gemm_naive.cu", "CORRECT"},
                                        {"tests/hostile/numerics/wrong_transposition.cu", "INCORRECT_NUMERICAL"},
                                        {"tests/hostile/memory/store_past_output.cu", "SANITIZER_ERROR"},
                                        {"tests/hostile/hang/trap.cu", "RUNTIME_ERROR"}};
  std::unique_ptr<Cluster> cluster_;
  std::vector<Member*> front_ends_, nodes_;
  std::vector<Turn> turns_;
  Stopper done_;
  Harm harm_;
  absl::Mutex mutex_;
  std::vector<absl::Duration> took_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(ChaosTest, EveryAcceptedSubmissionEndsWithTheOneVerdictThatItDeserves) {
  const auto server = store::PostgresServer::Start();
  if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status();
  ASSERT_TRUE(server.ok()) << server.status();
  const auto database = (*server)->NewDatabase();
  ASSERT_TRUE(database.ok()) << database.status();
  std::cout << "seed=" << seed_ << std::endl;
  Begin(*database);
  if (HasFailure()) return;
  const absl::Time start = absl::Now();
  std::vector<std::thread> disturbers;
  disturbers.push_back(Disturb(1, absl::Seconds(3), [this](std::mt19937_64& random) { HarmANode(random); }));
  disturbers.push_back(Disturb(2, absl::Seconds(6), [this](std::mt19937_64& random) { HarmAFrontEnd(random); }));
  disturbers.push_back(
      Disturb(3, absl::Seconds(12), [&](std::mt19937_64& random) { HarmTheDatabase(**server, random); }));
  RunClients();
  const absl::Duration wall = absl::Now() - start;
  done_.Stop();
  for (std::thread& disturber : disturbers) disturber.join();
  ExpectAllDeserved();
  Report(wall);
  EXPECT_GT(harm_.node_kills + harm_.front_end_kills, 0) << "too few kills: the test has proved nothing";
}

}  // namespace
}  // namespace sassay::testing
