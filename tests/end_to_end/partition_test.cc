// Hosts of a cluster lose each other, one kind of link after the other, in both directions and in each by itself, for
// longer than a lease. Meanwhile clients go on; every submission ends with the one verdict that its candidate deserves,
// and when the link is back nobody waits longer than LongestWait (recoveries.h).
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
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

using Links = std::vector<std::pair<Host, Host>>;

constexpr int kClients = 6;
constexpr absl::Duration kCut = absl::Seconds(10);
// Longer than either end of a connection waits for the other before it gives it up.
constexpr absl::Duration kLongCut = absl::Seconds(40);
constexpr absl::Duration kPatience = absl::Seconds(60);

// What became of a connection that was asked for.
enum class Reached { kAccepted, kRefused, kNoAnswer };

Reached Connect(const std::string& address, absl::Duration patience) {
  const size_t colon = address.rfind(':');
  int port = 0;
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(colon + 1), &port));
  to.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr), 1);
  const UniqueFd connection(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  connect(connection.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to));
  pollfd ready = {connection.get(), POLLOUT, 0};
  if (poll(&ready, 1, static_cast<int>(absl::ToInt64Milliseconds(patience))) != 1) return Reached::kNoAnswer;
  return (ready.revents & POLLERR) != 0 ? Reached::kRefused : Reached::kAccepted;
}

class PartitionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    AdoptOrphans();
    absl::StatusOr<std::unique_ptr<Network>> network = Network::Make();
    if (!network.ok()) GTEST_SKIP() << network.status().message();
    network_ = *std::move(network);
    database_host_ = *network_->AddHost();
    auto server = store::PostgresServer::Start({false, {}, database_host_.inside, database_host_.address});
    if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    const auto database = server_->NewDatabase();
    ASSERT_TRUE(database.ok()) << database.status();
    cluster_ = std::make_unique<Cluster>(*database, network_.get());
    for (int i = 0; i < 2; ++i) {
      const auto front_end = cluster_->AddFrontEnd();
      ASSERT_TRUE(front_end.ok()) << front_end.status();
    }
    for (int i = 0; i < 2; ++i) {
      const auto node = cluster_->AddNode();
      ASSERT_TRUE(node.ok()) << node.status();
    }
    for (Candidate& candidate : candidates_) {
      const absl::Status compiled = cluster_->Compile(candidate);
      ASSERT_TRUE(compiled.ok()) << compiled;
    }
  }

  const Candidate& CandidateOf(size_t turn) const { return candidates_[turn % candidates_.size()]; }

  // Clients that play one turn after the other until they are told to stop.
  void StartClients() {
    for (int i = 0; i < kClients; ++i) {
      clients_.emplace_back([this] {
        while (!enough_.stopped()) {
          const size_t turn = next_++;
          recoveries_.Begun(turn);
          Turn played = cluster_->Play(CandidateOf(turn), absl::StrCat("turn-", turn), cluster_->front_end(turn % 2),
                                       cluster_->front_end((turn + 1) % 2), absl::ZeroDuration(),
                                       [&](const sassay::v1::Event& event) { recoveries_.Saw(turn, event); });
          recoveries_.Over(turn);
          absl::MutexLock lock(&mutex_);
          turns_.emplace_back(turn, std::move(played));
        }
      });
    }
  }

  void Lose(const Links& links, bool there, bool back, absl::Duration how_long) {
    for (const auto& [one, other] : links) {
      if (there) Expect(network_->Cut(one, other));
      if (back) Expect(network_->Cut(other, one));
    }
    enough_.Sleep(how_long);
    for (const auto& [one, other] : links) {
      if (there) Expect(network_->Mend(one, other));
      if (back) Expect(network_->Mend(other, one));
    }
    recoveries_.Note(kPatience);
  }

  static void Expect(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

  // Both directions, then each by itself.
  void LoseInEveryDirection(const Links& links) {
    StartClients();
    Lose(links, true, true, kCut);
    Lose(links, true, false, kCut);
    Lose(links, false, true, kCut);
    Finish();
  }

  void Finish() {
    enough_.Stop();
    for (std::thread& client : clients_) client.join();
    absl::MutexLock lock(&mutex_);
    for (const auto& [turn, played] : turns_) ExpectOneLife(played, CandidateOf(turn));
    const std::vector<absl::Duration> waits = recoveries_.Waits();
    std::cout << turns_.size() << " turns, " << waits.size() << " under way at recoveries; longest wait "
              << (waits.empty() ? absl::ZeroDuration() : waits.back()) << "\n";
    EXPECT_FALSE(waits.empty()) << "nothing was under way: the test has proved nothing";
    EXPECT_EQ(recoveries_.LongerThan(LongestWait(kLease)), "");
    if (!HasFailure()) return;
    for (size_t i = 0; i < 2; ++i) {
      std::cout << "---- front end\n" << cluster_->front_end(i).Log() << "---- node\n" << cluster_->node(i).Log();
    }
  }

  std::vector<Candidate> candidates_ = {{"agent/examples/gemm_naive.cu", "CORRECT"},
                                        {"tests/hostile/numerics/wrong_transposition.cu", "INCORRECT_NUMERICAL"},
                                        {"tests/hostile/hang/trap.cu", "RUNTIME_ERROR"}};
  std::unique_ptr<Network> network_;
  Host database_host_;
  std::unique_ptr<store::PostgresServer> server_;
  std::unique_ptr<Cluster> cluster_;
  Recoveries recoveries_;
  Stopper enough_;
  std::vector<std::thread> clients_;
  std::atomic<size_t> next_ = 0;
  absl::Mutex mutex_;
  std::vector<std::pair<size_t, Turn>> turns_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(PartitionTest, WhatIsCutVanishesWithoutAWord) {
  const Member& front_end = cluster_->front_end(0);
  EXPECT_EQ(Connect(front_end.address(), absl::Seconds(5)), Reached::kAccepted);
  EXPECT_EQ(Connect(front_end.host().address + ":1", absl::Seconds(5)), Reached::kRefused);
  for (const bool there : {true, false}) {
    const Host& from = there ? network_->here() : front_end.host();
    const Host& to = there ? front_end.host() : network_->here();
    Expect(network_->Cut(from, to));
    EXPECT_EQ(Connect(front_end.address(), absl::Milliseconds(500)), Reached::kNoAnswer);
    EXPECT_EQ(Connect(cluster_->front_end(1).address(), absl::Seconds(5)), Reached::kAccepted);
    Expect(network_->Mend(from, to));
    EXPECT_EQ(Connect(front_end.address(), absl::Seconds(5)), Reached::kAccepted);
  }
}

TEST_F(PartitionTest, ANodeAndAllFrontEnds) {
  const Host& node = cluster_->node(0).host();
  LoseInEveryDirection({{node, cluster_->front_end(0).host()}, {node, cluster_->front_end(1).host()}});
}

TEST_F(PartitionTest, ANodeAndOneFrontEnd) {
  LoseInEveryDirection({{cluster_->node(0).host(), cluster_->front_end(0).host()}});
}

TEST_F(PartitionTest, EveryNodeAndEveryFrontEnd) {
  Links links;
  for (size_t node = 0; node < 2; ++node) {
    for (size_t i = 0; i < 2; ++i) links.emplace_back(cluster_->node(node).host(), cluster_->front_end(i).host());
  }
  LoseInEveryDirection(links);
}

TEST_F(PartitionTest, AFrontEndAndTheDatabase) {
  LoseInEveryDirection({{cluster_->front_end(0).host(), database_host_}});
}

TEST_F(PartitionTest, ClientsAndAFrontEnd) {
  LoseInEveryDirection({{network_->here(), cluster_->front_end(0).host()}});
}

// Both ends give their connections up meanwhile, and neither hears of it from the other.
TEST_F(PartitionTest, EverybodyAndAFrontEndForLong) {
  const Host& front_end = cluster_->front_end(0).host();
  Links links = {{network_->here(), front_end}, {database_host_, front_end}};
  for (size_t node = 0; node < 2; ++node) links.emplace_back(cluster_->node(node).host(), front_end);
  StartClients();
  Lose(links, true, true, kLongCut);
  Lose(links, false, true, kLongCut);
  Finish();
  // Sessions of the front end that the server has given up do not fill it: ten for each front end, and ours.
  const auto sessions = server_->Run({"psql", "-Atd", "test1", "-h", database_host_.address, "-U", "sassay", "-c",
                                      "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"});
  ASSERT_TRUE(sessions.ok()) << sessions.status();
  int count = 0;
  ASSERT_TRUE(absl::SimpleAtoi(*sessions, &count)) << *sessions;
  EXPECT_LE(count, 21);
}

}  // namespace
}  // namespace sassay::testing
