#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "absl/time/clock.h"
#include "agent/trajectory/layout.h"
#include "agent/trajectory/read_manifest.h"
#include "agent/trajectory/run_folder.h"
#include "agent/trajectory/trajectory.h"
#include "common/base/files.h"
#include "common/base/sha256.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ReadRunTest : public ::testing::Test {
 protected:
  ReadRunTest() : directory_(*TemporaryDirectory::Create("run")), path_(directory_.path() / "run") {
    v1::RunManifest manifest;
    manifest.set_run_id("r1");
    manifest.set_context(v1::CONTEXT_POLICY_BEST);
    folder_ = *RunFolder::Create(path_, manifest);
  }

  // A trajectory with one answered turn whose candidate is `code`.
  void Write(const std::string& id, const std::string& code, const std::string& file = "kernel.cu") {
    const auto log = *folder_->OpenLog(id, absl::Now);
    v1::TrajectoryRecord record;
    record.mutable_began()->set_trajectory_id(id);
    ASSERT_TRUE(log->Append(record).ok());
    record.mutable_asked();
    ASSERT_TRUE(log->Append(record).ok());
    record.mutable_answered()->set_text("text");
    ASSERT_TRUE(log->Append(record).ok());
    ASSERT_TRUE(folder_->WriteSource(id, 0, "kernel.cu", code).ok());
    record.mutable_extracted()->set_extraction(v1::EXTRACTION_CODE);
    record.mutable_extracted()->set_path(file);
    record.mutable_extracted()->set_source_sha256(Sha256Hex(code));
    ASSERT_TRUE(log->Append(record).ok());
  }

  TemporaryDirectory directory_;
  const fs::path path_;
  std::unique_ptr<RunFolder> folder_;
};

TEST_F(ReadRunTest, GivesManifestAndTrajectoriesInOrder) {
  Write("exp_1000", "c");
  Write("exp_002", "b");
  Write("exp_001", "a");
  const auto run = ReadRun(path_);
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->manifest.context(), v1::CONTEXT_POLICY_BEST);
  ASSERT_EQ(run->trajectories.size(), 3u);
  EXPECT_EQ(run->trajectories[0].began.trajectory_id(), "exp_001");
  EXPECT_EQ(run->trajectories[2].began.trajectory_id(), "exp_1000");
  EXPECT_EQ(*ReadSource(path_, run->trajectories[1], run->trajectories[1].turns[0]), "b");
}

TEST_F(ReadRunTest, ATrajectoryThatWasKilledBeforeItBeganIsNone) {
  Write("exp_000", "a");
  fs::create_directories(TrajectoryPath(path_, "exp_001"));
  ASSERT_TRUE(folder_->OpenLog("exp_002", absl::Now).ok());
  EXPECT_EQ(ReadRun(path_)->trajectories.size(), 1u);
}

TEST_F(ReadRunTest, AFolderWithoutARunIsNotFound) {
  EXPECT_EQ(ReadRun(directory_.path()).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ReadRunTest, DamageIsDataLossWithThePlace) {
  Write("exp_000", "a");
  std::ofstream(LogPath(path_, "exp_000"), std::ios::app) << "garbage\n";
  const auto run = ReadRun(path_);
  EXPECT_EQ(run.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(run.status().message()), HasSubstr("exp_000/log.jsonl, line 5"));
}

TEST_F(ReadRunTest, AManifestWhosePricesAreNoNumbersIsDataLoss) {
  for (const char* bad : {R"("prices": {"prompt": "NaN"})", R"("prices": {"completion": -1})",
                          R"("prices": {"cached_prompt": "Infinity"})", R"("prices": {"cache_write": 1e300})",
                          R"("money_budget_usd": "NaN")", R"("target_speedup": "-Infinity")",
                          R"("sampling": {"top_p": 2})", R"("sampling": {"temperature": "NaN"})"}) {
    std::ofstream(ManifestPath(path_)) << "{\"run_id\": \"r\", " << bad << "}";
    const absl::Status status = ReadManifest(path_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr("run.json: ")) << bad;
  }
  std::ofstream(ManifestPath(path_)) << R"({"prices": {"prompt": 3, "completion": 15}, "sampling": {"top_p": 1}})";
  EXPECT_EQ(ReadManifest(path_)->prices().completion(), 15);
}

TEST_F(ReadRunTest, ALogUnderAnotherNameIsDataLoss) {
  Write("exp_000", "a");
  fs::rename(TrajectoryPath(path_, "exp_000"), TrajectoryPath(path_, "exp_009"));
  EXPECT_EQ(ReadRun(path_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ReadRunTest, LinksAreNotFollowed) {
  Write("exp_000", "a");
  fs::rename(LogPath(path_, "exp_000"), directory_.path() / "elsewhere");
  fs::create_symlink(directory_.path() / "elsewhere", LogPath(path_, "exp_000"));
  EXPECT_EQ(ReadRun(path_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ReadRunTest, ASourceThatNamesAnotherFileOrWasChangedIsDataLoss) {
  std::ofstream(directory_.path() / "secret") << "secret";
  Write("exp_000", "a", "../../../../secret");
  Write("exp_001", "a");
  std::ofstream(TrajectoryPath(path_, "exp_001") / "turn_00/kernel.cu") << "b";
  const auto run = ReadRun(path_);
  for (const Trajectory& trajectory : run->trajectories) {
    EXPECT_EQ(ReadSource(path_, trajectory, trajectory.turns[0]).status().code(), absl::StatusCode::kDataLoss)
        << trajectory.began.trajectory_id();
  }
}

TEST_F(ReadRunTest, ASpeedupThatIsNoNumberIsNone) {
  Turn turn;
  v1::Verdict& verdict = *turn.judged.emplace().mutable_verdict();
  verdict.set_status(v1::VERDICT_STATUS_CORRECT);
  verdict.mutable_timing()->set_status(v1::Timing::MEASURED);
  verdict.mutable_timing()->set_speedup(1.5);
  EXPECT_EQ(SpeedupOf(turn), 1.5);
  for (const double none : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    verdict.mutable_timing()->set_speedup(none);
    EXPECT_EQ(SpeedupOf(turn), std::nullopt) << none;
  }
}

TEST_F(ReadRunTest, PromptsAreKeptOnceAndByContent) {
  const std::string sha256 = *folder_->WritePrompt("system");
  EXPECT_EQ(*folder_->WritePrompt("system"), sha256);
  EXPECT_EQ(*ReadPrompt(path_, sha256), "system");
  std::ofstream(PromptPath(path_, sha256)) << "changed";
  EXPECT_EQ(ReadPrompt(path_, sha256).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(ReadPrompt(path_, "../run").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace sassay::agent
