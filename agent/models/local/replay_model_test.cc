#include "agent/models/local/replay_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/time/clock.h"
#include "agent/trajectory/log.h"
#include "agent/trajectory/run_folder.h"
#include "common/base/files.h"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ReplayModelTest : public ::testing::Test {
 protected:
  void Write(const char* name, absl::string_view text) {
    fs::create_directories((folder_.path() / name).parent_path());
    ASSERT_TRUE(WriteFileAtomically(folder_.path() / name, text).ok());
  }
  absl::StatusOr<v1::Answered> Ask(const char* trajectory, uint32_t turn) {
    if (model_ == nullptr) model_ = *OpenReplay(folder_.path());
    GenerationRequest request;
    request.trajectory_id = trajectory;
    request.turn = turn;
    request.messages = {{ChatMessage::Role::kUser, std::make_shared<std::string>(400, 'x')}};
    return model_->Generate(request, {}, stopper_);
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("replay_model_test");
  Stopper stopper_;
  std::unique_ptr<Model> model_;
};

TEST_F(ReplayModelTest, EachTrajectoryHasItsOwnAnswers) {
  Write("exp_000/turn_00.md", "a");
  Write("exp_001/turn_00.md", "b");
  Write("exp_001/turn_10.md", "c");
  Write("exp_001/turn_10.reasoning.md", "why");
  EXPECT_EQ(Ask("exp_000", 0)->text(), "a");
  EXPECT_EQ(Ask("exp_001", 0)->text(), "b");
  const v1::Answered answer = *Ask("exp_001", 10);
  EXPECT_EQ(answer.text(), "c");
  EXPECT_EQ(answer.reasoning(), "why");
  EXPECT_EQ(answer.turn(), 10u);
  EXPECT_EQ(answer.usage().prompt_tokens(), 100u);
  EXPECT_TRUE(answer.usage().estimated());
}

TEST_F(ReplayModelTest, AllTrajectoriesMayShareAnswers) {
  Write("turn_00.md", "all");
  Write("exp_002/turn_00.md", "own");
  EXPECT_EQ(Ask("exp_007", 0)->text(), "all");
  EXPECT_EQ(Ask("exp_002", 0)->text(), "own");
}

TEST_F(ReplayModelTest, ATurnWithoutAnAnswerEndsItsTrajectory) {
  Write("turn_00.md", "all");
  const absl::Status status = Ask("exp_000", 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("exp_000 at turn 1"));
}

TEST_F(ReplayModelTest, ATrajectorysNameIsNoPath) {
  Write("inside/turn_00.md", "in");
  Write("turn_00.md", "secret");
  model_ = *OpenReplay(folder_.path() / "inside");
  EXPECT_EQ(Ask("..", 0)->text(), "in");
  EXPECT_EQ(Ask("../", 0)->text(), "in");
}

TEST_F(ReplayModelTest, AFormerRunIsReplayedWithItsUsage) {
  v1::RunManifest manifest;
  manifest.set_run_id("run");
  const fs::path path = folder_.path() / "run";
  {
    const auto run = *RunFolder::Create(path, manifest);
    const auto log = *run->OpenLog("exp_000", absl::Now);
    v1::TrajectoryRecord record;
    record.mutable_began()->set_trajectory_id("exp_000");
    ASSERT_TRUE(log->Append(record).ok());
    record.mutable_asked()->set_turn(0);
    ASSERT_TRUE(log->Append(record).ok());
    record.mutable_answered()->set_text("recorded");
    record.mutable_answered()->mutable_usage()->set_prompt_tokens(77);
    ASSERT_TRUE(log->Append(record).ok());
  }
  const auto model = OpenReplay(path);
  ASSERT_TRUE(model.ok()) << model.status();
  GenerationRequest request;
  request.trajectory_id = "exp_000";
  const auto answer = (*model)->Generate(request, {}, stopper_);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->text(), "recorded");
  EXPECT_EQ(answer->usage().prompt_tokens(), 77u);
  request.turn = 1;
  EXPECT_EQ((*model)->Generate(request, {}, stopper_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ReplayModelTest, AFolderWithoutAnswersIsRefusedAtOnce) {
  Write("readme.md", "no");
  const auto model = OpenReplay(folder_.path());
  EXPECT_EQ(model.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(model.status().message()), HasSubstr("exp_000/turn_00.md"));
  EXPECT_EQ(OpenReplay(folder_.path() / "none").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sassay::agent
