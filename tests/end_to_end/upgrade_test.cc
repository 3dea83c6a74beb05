// Two versions side by side: a cluster of the version before is replaced process by process while clients submit and
// follow, and every submission ends with its one verdict. SASSAY_PREVIOUS names the folder where the version before
// is installed (bin/profiler-service and what belongs to it); without it there is nothing to try.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/process/subprocess.h"
#include "common/rpc/stopper.h"
#include "profiler_service/store/testing/postgres_server.h"
#include "tests/end_to_end/cluster_fixture.h"
#include "tests/end_to_end/process_tree.h"

namespace sassay::testing {
namespace {

using sassay::v1::Event;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int kClients = 4;
// Of each step.
constexpr int kTurns = 12;

class UpgradeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    AdoptOrphans();
    const char* prefix = std::getenv("SASSAY_PREVIOUS");
    if (prefix == nullptr) GTEST_SKIP() << "SASSAY_PREVIOUS names no folder with the version before";
    old_ = absl::StrCat(prefix, "/bin");
    auto server = store::PostgresServer::Start();
    if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    const auto database = server_->NewDatabase();
    ASSERT_TRUE(database.ok()) << database.status();
    cluster_ = std::make_unique<Cluster>(*database);
    cluster_->RunFrom(old_);
    for (int i = 0; i < 2; ++i) {
      const auto front_end = cluster_->AddFrontEnd();
      ASSERT_TRUE(front_end.ok()) << front_end.status();
    }
    for (int i = 0; i < 2; ++i) AddNode();
    for (Candidate& candidate : candidates_) {
      const absl::Status compiled = cluster_->Compile(candidate);
      ASSERT_TRUE(compiled.ok()) << compiled;
    }
  }

  void TearDown() override { EndClients(); }

  void AddNode() {
    const auto node = cluster_->AddNode();
    ASSERT_TRUE(node.ok()) << node.status();
  }

  const Candidate& CandidateOf(size_t turn) const { return candidates_[turn % candidates_.size()]; }

  void StartClients() {
    for (int i = 0; i < kClients; ++i) {
      clients_.emplace_back([this] {
        while (!enough_.stopped()) {
          const size_t turn = next_++;
          Turn played = cluster_->Play(CandidateOf(turn), absl::StrCat("turn-", turn), cluster_->front_end(turn % 2),
                                       cluster_->front_end((turn + 1) % 2), absl::ZeroDuration(),
                                       [this](const Event& event) { NoteDevice(event); });
          absl::MutexLock lock(&mutex_);
          turns_.emplace_back(turn, std::move(played));
        }
      });
    }
  }
  void EndClients() {
    enough_.Stop();
    for (std::thread& client : clients_) client.join();
    clients_.clear();
  }

  void NoteDevice(const Event& event) {
    if (!event.has_stage_started() || event.stage_started().device().empty()) return;
    absl::MutexLock lock(&mutex_);
    devices_.insert(event.stage_started().device());
  }

  // Some more turns, begun and ended from now on, at either front end. Answers the devices that ran something.
  std::set<std::string> PlayOn(const char* step) {
    absl::MutexLock lock(&mutex_);
    devices_.clear();
    // Those that are under way have begun before.
    const size_t target = turns_.size() + kTurns + kClients;
    const auto enough = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return turns_.size() >= target; };
    EXPECT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&enough), absl::Minutes(3))) << step;
    std::cout << step << ": " << turns_.size() << " turns so far\n";
    return devices_;
  }

  // SIGTERM, as a service manager would, and the new program at its place.
  static void Replace(Member& member, const std::string& programs) {
    EXPECT_EQ(member.Drain(), 0) << member.Log();
    member.RunFrom(programs);
    const absl::Status started = member.Start();
    EXPECT_TRUE(started.ok()) << started;
  }

  std::string SchemaVersion() {
    const auto version = server_->Run({"psql", "-Atd", "test1", "-h", server_->folder(), "-U", "sassay", "-c",
                                       "SELECT version FROM sassay.schema_version"});
    EXPECT_TRUE(version.ok()) << version.status();
    return std::string(absl::StripAsciiWhitespace(version.value_or("")));
  }

  // The agent of the version before, from source to verdict.
  void SubmitWithTheOldAgent(const Member& front_end) {
    const auto home = TemporaryDirectory::Create("old_agent");
    std::vector<std::string> arguments = {"submit",       SourcePath(candidates_[0].source),
                                          "--workload",   "gemm_n256_k256/M=8",
                                          "--service",    front_end.address(),
                                          "--token-file", cluster_->TokenFile("ann")};
    Command command = AgentCommand(arguments, home->path());
    command.argv[0] = old_ + "/mini-ptx-agent";
    const auto report = RunToCompletion(command, absl::Minutes(2));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->exit_code, 0) << report->stdout_text << report->stderr_text;
    EXPECT_THAT(report->stdout_text, HasSubstr("CORRECT"));
  }

  void ExpectAllDeserved() {
    absl::MutexLock lock(&mutex_);
    for (const auto& [number, turn] : turns_) {
      ExpectOneLife(turn, CandidateOf(number));
      const Turn later = cluster_->Attach(turn.id, cluster_->front_end(number % 2));
      ExpectOneLife(later, CandidateOf(number));
      EXPECT_EQ(later.verdict.SerializeAsString(), turn.verdict.SerializeAsString());
    }
    std::cout << turns_.size() << " turns, each with its one verdict\n";
  }

  std::string old_;
  std::vector<Candidate> candidates_ = {{"agent/examples/gemm_naive.cu", "CORRECT"},
                                        {"tests/hostile/numerics/wrong_transposition.cu", "INCORRECT_NUMERICAL"},
                                        {"tests/hostile/hang/trap.cu", "RUNTIME_ERROR"}};
  std::unique_ptr<store::PostgresServer> server_;
  std::unique_ptr<Cluster> cluster_;
  Stopper enough_;
  std::vector<std::thread> clients_;
  std::atomic<size_t> next_ = 0;
  absl::Mutex mutex_;
  std::vector<std::pair<size_t, Turn>> turns_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> devices_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(UpgradeTest, FrontEndsAndNodesAreReplacedOneByOneWithSubmissionsInFlight) {
  const std::string this_build;
  StartClients();
  PlayOn("all of the version before");
  const std::string before = SchemaVersion();

  cluster_->RunFrom(this_build);
  AddNode();
  EXPECT_THAT(PlayOn("a new node at old front ends"), Contains(HasSubstr("@node2")));

  Replace(cluster_->front_end(0), this_build);
  const std::string after = SchemaVersion();
  std::cout << "schema version " << before << ", then " << after << "\n";
  EXPECT_THAT(PlayOn("an old and a new front end on the new schema"),
              Contains(AnyOf(HasSubstr("@node0"), HasSubstr("@node1"))));

  Replace(cluster_->front_end(1), this_build);
  EXPECT_THAT(PlayOn("old nodes at new front ends"), Contains(AnyOf(HasSubstr("@node0"), HasSubstr("@node1"))));
  SubmitWithTheOldAgent(cluster_->front_end(0));

  Replace(cluster_->node(0), this_build);
  Replace(cluster_->node(1), this_build);
  PlayOn("all of this version");
  EndClients();
  ExpectAllDeserved();

  // There is no way back once the schema is newer, and it is said.
  EXPECT_EQ(cluster_->front_end(1).Drain(), 0);
  cluster_->front_end(1).RunFrom(old_);
  const absl::Status back = cluster_->front_end(1).Start();
  if (before == after) {
    EXPECT_TRUE(back.ok()) << back;
  } else {
    EXPECT_THAT(std::string(back.message()), HasSubstr("the database has schema version "));
  }
}

// Nodes may be first, too: a cluster that is not asked for its front ends' schema goes back as it came.
TEST_F(UpgradeTest, NodesGoThereAndBackAtOldFrontEnds) {
  const std::string this_build;
  StartClients();
  PlayOn("all of the version before");
  Replace(cluster_->node(0), this_build);
  Replace(cluster_->node(1), this_build);
  PlayOn("new nodes at old front ends");
  Replace(cluster_->node(0), old_);
  PlayOn("a new and an old node");
  EndClients();
  ExpectAllDeserved();
}

}  // namespace
}  // namespace sassay::testing
