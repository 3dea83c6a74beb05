// A whole cluster under everything at once: front ends on one PostgreSQL and nodes with emulated devices, each on a
// host of its own, are killed and paused at random, and so is the database, and hosts lose each other, in both
// directions or in one, while many clients submit and follow. Every accepted submission ends with the one verdict that
// its candidate deserves, and once all is well again nobody waits longer than LongestWait (recoveries.h).
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
#include "tests/end_to_end/network.h"
#include "tests/end_to_end/process_tree.h"
#include "tests/end_to_end/recoveries.h"

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
  std::map<std::string, int> numbers_ = {{"front_ends", 2}, {"nodes", 3}, {"submissions", 60},
                                         {"clients", 6},    {"lease", 6}, {"seed", 0}};
};

// What was done to whom, and how often.
struct Harm {
  std::atomic<int> node_kills = 0, node_pauses = 0, front_end_kills = 0, front_end_pauses = 0, database_kills = 0,
                   database_pauses = 0;
  // Hosts that lost each other: a node all front ends, a node one of them, a front end the database, clients a front
  // end.
  std::atomic<int> node_cuts = 0, node_link_cuts = 0, database_cuts = 0, client_cuts = 0, one_way = 0;
};

// From the end of one calm to the next; who disturbs then ends what he has begun.
constexpr absl::Duration kStorm = absl::Seconds(8);
// Of who waits too long, so that it is said by how much.
constexpr absl::Duration kPatience = absl::Seconds(60);

// Storms and calms. Thread-safe.
class Weather {
 public:
  // False if all is over. Otherwise whoever asked may do harm, and says when it has passed.
  bool AwaitStorm() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_, absl::Condition(this, &Weather::MayAct));
    if (over_) return false;
    ++acting_;
    return true;
  }
  void Passed() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    --acting_;
  }
  void Storm() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    storms_ = true;
  }
  // Returns when nobody does harm any more.
  void Calm() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    storms_ = false;
    mutex_.Await(absl::Condition(this, &Weather::NobodyActs));
  }
  void End() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    over_ = true;
  }

 private:
  bool MayAct() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return storms_ || over_; }
  bool NobodyActs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return acting_ == 0; }

  absl::Mutex mutex_;
  bool storms_ ABSL_GUARDED_BY(mutex_) = false;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  int acting_ ABSL_GUARDED_BY(mutex_) = 0;
};

class ChaosTest : public ::testing::Test {
 protected:
  void SetUp() override { AdoptOrphans(); }

  void Begin(const std::string& database) {
    cluster_ = std::make_unique<Cluster>(database, network_.get(), lease_);
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

  // As many turns as were asked for, and more until there was a recovery.
  void RunClients() {
    std::vector<std::thread> clients;
    std::atomic<size_t> next = 0;
    const auto planned = static_cast<size_t>(plan_["submissions"]);
    for (int i = 0; i < plan_["clients"]; ++i) {
      clients.emplace_back([&] {
        for (size_t turn = next++; turn < planned || recoveries_.count() == 0; turn = next++) Play(turn);
      });
    }
    for (std::thread& client : clients) client.join();
  }

  void Play(size_t turn) {
    const absl::Time begin = absl::Now();
    const Member& submit_at = *front_ends_[turn % front_ends_.size()];
    const Member& attach_at = *front_ends_[(turn + 1) % front_ends_.size()];
    recoveries_.Begun(turn);
    Turn played = cluster_->Play(CandidateOf(turn), absl::StrCat("turn-", turn), submit_at, attach_at,
                                 absl::ZeroDuration(), [&](const Event& event) { recoveries_.Saw(turn, event); });
    recoveries_.Over(turn);
    absl::MutexLock lock(&mutex_);
    took_.push_back(absl::Now() - begin);
    turns_.emplace(turn, std::move(played));
  }

  // Again and again in storms, with pauses of chance between, until the clients are done.
  void Disturb(absl::Duration between, std::function<void(std::mt19937_64&)> act) {
    const uint64_t number = disturbers_.size() + 1;
    disturbers_.emplace_back([this, number, between, act = std::move(act)] {
      std::mt19937_64 random(seed_ + number);
      while (done_.Sleep(between * std::uniform_real_distribution<double>(0.5, 1.5)(random)) && weather_.AwaitStorm()) {
        act(random);
        weather_.Passed();
      }
    });
  }

  // Storm, and calm until nobody waits any more, until the clients are done.
  void ChangeWeather() {
    while (true) {
      weather_.Storm();
      const bool more = done_.Sleep(kStorm);
      weather_.Calm();
      if (!more) break;
      recoveries_.Note(kPatience);
    }
    weather_.End();
  }

  static size_t OneOf(size_t count, std::mt19937_64& random) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random);
  }
  static bool Coin(std::mt19937_64& random) { return std::bernoulli_distribution(0.5)(random); }
  // Up to twice the shortest lease.
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

  // In both directions, or in one.
  void Lose(const std::vector<std::pair<Host, Host>>& links, std::mt19937_64& random) {
    const size_t direction = OneOf(3, random);
    if (direction > 0) ++harm_.one_way;
    for (const auto& [one, other] : links) {
      if (direction != 1) Expect(network_->Cut(one, other));
      if (direction != 2) Expect(network_->Cut(other, one));
    }
    Wait(random);
    for (const auto& [one, other] : links) {
      if (direction != 1) Expect(network_->Mend(one, other));
      if (direction != 2) Expect(network_->Mend(other, one));
    }
  }

  static void Expect(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

  void CutANodeOff(std::mt19937_64& random) {
    const Host& node = nodes_[OneOf(nodes_.size(), random)]->host();
    std::vector<std::pair<Host, Host>> links;
    for (const Member* front_end : front_ends_) links.emplace_back(node, front_end->host());
    if (Coin(random)) {
      ++harm_.node_link_cuts;
      links = {links[OneOf(links.size(), random)]};
    } else {
      ++harm_.node_cuts;
    }
    Lose(links, random);
  }

  void CutAFrontEndOff(const Host& database, std::mt19937_64& random) {
    const bool from_clients = Coin(random);
    ++(from_clients ? harm_.client_cuts : harm_.database_cuts);
    const Host& front_end = front_ends_[OneOf(front_ends_.size(), random)]->host();
    Lose({{from_clients ? network_->here() : database, front_end}}, random);
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
    absl::MutexLock lock(&mutex_);
    std::map<uint32_t, int> attempts;
    for (const auto& [number, turn] : turns_) {
      ExpectOneLife(turn, CandidateOf(number));
      const Turn later = cluster_->Attach(turn.id, *front_ends_[number % front_ends_.size()]);
      ExpectOneLife(later, CandidateOf(number));
      EXPECT_EQ(later.verdict.SerializeAsString(), turn.verdict.SerializeAsString());
      ++attempts[turn.verdict.attempt()];
    }
    for (const auto& [attempt, count] : attempts) std::cout << "attempts " << attempt << ": " << count << "\n";
  }

  // "median 1.0 s, 99 % 2.0 s, longest 3.0 s" of what is sorted.
  static std::string Spread(const std::vector<absl::Duration>& sorted) {
    if (sorted.empty()) return "none";
    const auto at = [&](double share) {
      return absl::ToDoubleSeconds(sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))]);
    };
    return absl::StrFormat("median %.1f s, 99 %% %.1f s, longest %.1f s", at(0.5), at(0.99), at(1));
  }

  void Report(absl::Duration wall) {
    absl::MutexLock lock(&mutex_);
    std::sort(took_.begin(), took_.end());
    std::cout << absl::StrFormat(
        "seed %d: %d submissions of %d clients in %.1f s, %d front ends, %d nodes; nodes killed %d, paused %d; front "
        "ends killed %d, paused %d; database killed %d, paused %d\n",
        seed_, turns_.size(), plan_["clients"], absl::ToDoubleSeconds(wall), plan_["front_ends"], plan_["nodes"],
        harm_.node_kills.load(), harm_.node_pauses.load(), harm_.front_end_kills.load(), harm_.front_end_pauses.load(),
        harm_.database_kills.load(), harm_.database_pauses.load());
    std::cout << absl::StrFormat(
        "hosts that lost each other: node and all front ends %d, node and one %d, front end and database %d, clients "
        "and "
        "front end %d; in one direction %d\n",
        harm_.node_cuts.load(), harm_.node_link_cuts.load(), harm_.database_cuts.load(), harm_.client_cuts.load(),
        harm_.one_way.load());
    std::cout << "from submission to verdict: " << Spread(took_) << "\n";
    const std::vector<absl::Duration> waits = recoveries_.Waits();
    std::cout << absl::StrFormat(
        "recoveries %d, turns under way then %d; from a recovery until a client knows that his turn is worked at: %s "
        "(lease %.0f s, bound %.0f s); until its verdict: %s\n",
        recoveries_.count(), waits.size(), Spread(waits), absl::ToDoubleSeconds(lease_),
        absl::ToDoubleSeconds(LongestWait(lease_)), Spread(recoveries_.UntilOver()));
  }

  const Plan plan_;
  const absl::Duration lease_ = absl::Seconds(plan_["lease"]);
  const uint64_t seed_ = plan_["seed"] > 0 ? static_cast<uint64_t>(plan_["seed"]) : std::random_device{}();
  std::vector<Candidate> candidates_ = {{"agent/examples/gemm_naive.cu", "CORRECT"},
                                        {"tests/hostile/numerics/wrong_transposition.cu", "INCORRECT_NUMERICAL"},
                                        {"tests/hostile/memory/store_past_output.cu", "SANITIZER_ERROR"},
                                        {"tests/hostile/hang/trap.cu", "RUNTIME_ERROR"}};
  std::unique_ptr<Network> network_;  // null where none can be made
  std::unique_ptr<Cluster> cluster_;
  std::vector<Member*> front_ends_, nodes_;
  Weather weather_;
  Recoveries recoveries_;
  std::vector<std::thread> disturbers_;
  Stopper done_;
  Harm harm_;
  absl::Mutex mutex_;
  std::map<size_t, Turn> turns_ ABSL_GUARDED_BY(mutex_);  // by number
  std::vector<absl::Duration> took_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(ChaosTest, EveryAcceptedSubmissionEndsWithTheOneVerdictThatItDeserves) {
  absl::StatusOr<std::unique_ptr<Network>> network = Network::Make();
  store::PostgresServer::Options options;
  Host database_host;
  if (network.ok()) {
    network_ = *std::move(network);
    const auto host = network_->AddHost();
    ASSERT_TRUE(host.ok()) << host.status();
    database_host = *host;
    options.inside = host->inside;
    options.address = host->address;
  } else {
    std::cout << network.status().message() << std::endl;
  }
  const auto server = store::PostgresServer::Start(options);
  if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status();
  ASSERT_TRUE(server.ok()) << server.status();
  const auto database = (*server)->NewDatabase();
  ASSERT_TRUE(database.ok()) << database.status();
  std::cout << "seed=" << seed_ << std::endl;
  Begin(*database);
  if (HasFailure()) return;
  const absl::Time start = absl::Now();
  Disturb(absl::Seconds(3), [this](std::mt19937_64& random) { HarmANode(random); });
  Disturb(absl::Seconds(6), [this](std::mt19937_64& random) { HarmAFrontEnd(random); });
  Disturb(absl::Seconds(12), [&](std::mt19937_64& random) { HarmTheDatabase(**server, random); });
  if (network_ != nullptr) {
    Disturb(absl::Seconds(4), [this](std::mt19937_64& random) { CutANodeOff(random); });
    Disturb(absl::Seconds(6), [&](std::mt19937_64& random) { CutAFrontEndOff(database_host, random); });
  }
  std::thread weather([this] { ChangeWeather(); });
  RunClients();
  const absl::Duration wall = absl::Now() - start;
  done_.Stop();
  weather.join();
  for (std::thread& disturber : disturbers_) disturber.join();
  ExpectAllDeserved();
  Report(wall);
  EXPECT_EQ(recoveries_.LongerThan(LongestWait(lease_)), "");
  EXPECT_GT(harm_.node_kills + harm_.front_end_kills, 0) << "too few kills: the test has proved nothing";
}

}  // namespace
}  // namespace sassay::testing
