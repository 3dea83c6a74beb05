// SIGKILL at random moments of a whole run: the record is the one of a run that nobody disturbed, and nothing that was
// paid for is asked for again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/end_to_end/rollouts_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using agent::KeyCount;
using ::testing::IsEmpty;

constexpr size_t kTrajectories = 12;
constexpr uint32_t kTurns = 8;
// Answers at once, and so the most that one kill can cost.
constexpr uint32_t kParallel = 6;
constexpr int kKills = 25;

// What the server has seen and the log holds at each kill.
class Audit {
 public:
  // The process is dead: what its log holds is durable against that, and the requests that led to it are all counted.
  void AfterKill(const agent::Run& run, const std::map<std::string, KeyCount>& counts) {
    ++kills_;
    for (const agent::Trajectory& trajectory : run.trajectories) {
      for (const agent::Turn& turn : trajectory.turns) {
        const std::string& key = turn.asked->idempotency_key();
        if (turn.answered.has_value()) {
          const auto found = counts.find(key);
          ASSERT_NE(found, counts.end()) << key << " is answered, and nobody was asked";
          requests_.emplace(key, found->second.requests);
        } else {
          ++under_way_[key];
        }
      }
    }
  }

  // `remembers`: the provider knows idempotency keys.
  void AtTheEnd(const std::map<std::string, KeyCount>& counts, bool remembers) const {
    EXPECT_EQ(counts.size(), kTrajectories * kTurns);
    uint32_t paid_twice = 0;
    for (const auto& [key, count] : counts) {
      const auto durable = requests_.find(key);
      if (durable != requests_.end()) {
        EXPECT_EQ(count.requests, durable->second) << key << " was in the log, and was asked for again";
      }
      const auto cut = under_way_.find(key);
      const uint32_t again = cut == under_way_.end() || remembers ? 0 : cut->second;
      ASSERT_GE(count.generated, 1u) << key;
      EXPECT_LE(count.generated, 1 + again) << key << " was under way at " << again << " kills";
      paid_twice += count.generated - 1;
    }
    EXPECT_LE(paid_twice, remembers ? 0 : kills_ * kParallel);
    std::printf("%u kills, %u answers generated twice\n", kills_, paid_twice);
  }
  // Turns that a kill met while their answers were under way.
  size_t turns_met() const { return under_way_.size(); }

 private:
  uint32_t kills_ = 0;
  // By key: requests when its answer was first seen in the log, and kills at which it was asked for and not there.
  std::map<std::string, uint32_t> requests_;
  std::map<std::string, uint32_t> under_way_;
};

// The parameter: whether the provider gives an idempotency key the same answer again.
class RolloutsKilledTest : public RolloutsTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    RolloutsTest::SetUp();
    auto home = TemporaryDirectory::Create("rollouts_home");
    ASSERT_TRUE(home.ok());
    home_.emplace(*std::move(home));
  }
  int Random(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  // A moment that no step of the run knows of: after some more requests, and up to 300 ms. False if it ended before.
  bool KillSomewhere(Subprocess& process) {
    model_->AwaitRequests(model_->Requests().size() + static_cast<size_t>(Random(0, 8)), absl::Seconds(10));
    if (process.Wait(absl::Now() + absl::Milliseconds(Random(0, 300))).ok()) return false;
    process.Kill();
    return true;
  }
  ExitReport LiveOnce(bool is_killed) {
    const bool begun = fs::exists(Folder("wild") / "run.json");
    auto process = Subprocess::Start(
        AgentCommand(With(begun ? Resume("wild") : New("wild", kTrajectories, kTurns)), home_->path().string()));
    EXPECT_TRUE(process.ok()) << process.status();
    if (!process.ok()) return ExitReport();
    if (is_killed) KillSomewhere(*process);
    const auto report = process->Wait(absl::Now() + absl::Seconds(200));
    EXPECT_TRUE(report.ok()) << report.status();
    return report.value_or(ExitReport());
  }

  // Another seed with each --gtest_repeat of --gtest_shuffle.
  std::mt19937 random_{static_cast<uint32_t>(11 + ::testing::UnitTest::GetInstance()->random_seed())};
  std::optional<TemporaryDirectory> home_;
};

TEST_P(RolloutsKilledTest, ARunGoesOnToTheRecordOfAnUndisturbedOneAndPaysForNothingTwice) {
  StartModel(AnyAnswer);
  const AgentResult calm = RunAgent(With(New("calm", kTrajectories, kTurns)), absl::Seconds(200));
  ASSERT_EQ(calm.exit_code, 0) << calm.stderr_text;
  StartModel(agent::WithRandomFaults(AnyAnswer, random_(), 0.3), GetParam());
  Audit audit;
  int kills = 0;
  for (ExitReport report = LiveOnce(true); report.kind == ExitReport::Kind::kSignaled;
       report = LiveOnce(kills < kKills)) {
    ++kills;
    if (fs::exists(Folder("wild") / "run.json")) audit.AfterKill(Read("wild"), model_->Counts());
  }
  EXPECT_GE(kills, 10);
  EXPECT_GE(audit.turns_met(), 5u) << "hardly a kill met an answer";
  EXPECT_THAT(Differences(Folder("wild"), Folder("calm")), IsEmpty()) << "after " << kills << " kills";
  audit.AtTheEnd(model_->Counts(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Provider, RolloutsKilledTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "RemembersKeys" : "ForgetsKeys"; });

}  // namespace
}  // namespace sassay::testing
