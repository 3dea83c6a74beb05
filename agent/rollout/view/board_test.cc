#include "agent/rollout/view/board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "agent/rollout/view/live_view.h"
#include "agent/rollout/view/render_board.h"

namespace sassay::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Turn Decided(uint32_t number, v1::VerdictStatus status, double speedup = 0) {
  Turn turn;
  turn.number = number;
  turn.extracted.emplace().set_extraction(v1::EXTRACTION_CODE);
  v1::Verdict& verdict = *turn.judged.emplace().mutable_verdict();
  verdict.set_status(status);
  verdict.set_reason("because\x1b[2J");
  if (speedup > 0) verdict.mutable_timing()->set_status(v1::Timing::MEASURED);
  verdict.mutable_timing()->set_speedup(speedup);
  turn.feedback.emplace();
  return turn;
}

class BoardTest : public ::testing::Test {
 protected:
  BoardTest() : board_(4, [this](absl::string_view line) { lines_.emplace_back(line); }) {
    board_.Add("exp_000", "gemm/M=16");
    board_.Add("exp_001", "gemm/M=16");
  }
  std::vector<std::string> lines_;
  Board board_;
};

TEST_F(BoardTest, TurnsBecomeGlyphsAndLines) {
  board_.Decided(0, Decided(0, v1::VERDICT_STATUS_COMPILE_ERROR));
  board_.Decided(0, Decided(1, v1::VERDICT_STATUS_CORRECT, 0.834));
  Turn no_code;
  no_code.number = 2;
  no_code.extracted.emplace().set_extraction(v1::EXTRACTION_NO_CODE);
  board_.Decided(0, no_code);
  EXPECT_EQ(board_.state().rows[0].glyphs, "c+-");
  EXPECT_EQ(board_.state().rows[0].best_speedup, 0.834);
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_EQ(lines_[1], "exp_000 turn 1: CORRECT, 0.834x");
  EXPECT_FALSE(absl::StrContains(lines_[0], "\x1b")) << "what a candidate says repaints no terminal";
}

TEST_F(BoardTest, ARewoundTrajectoryIsShownWithoutItsLaterTurns) {
  board_.Decided(0, Decided(0, v1::VERDICT_STATUS_CORRECT, 2));
  board_.Decided(0, Decided(1, v1::VERDICT_STATUS_CORRECT, 3));
  v1::TrajectoryEnded ended;
  ended.set_end(v1::TRAJECTORY_END_TURN_LIMIT);
  board_.Ended(0, ended);
  board_.Show(0, {Decided(0, v1::VERDICT_STATUS_CORRECT, 2)});
  EXPECT_EQ(board_.state().rows[0].glyphs, "+");
  EXPECT_EQ(board_.state().rows[0].best_speedup, 2);
  EXPECT_FALSE(board_.state().rows[0].ended);
}

TEST_F(BoardTest, ANoteIsSaidWholeHoweverManyThereWere) {
  for (int i = 0; i < 8; ++i) board_.Note(absl::StrCat("note ", i, ", longer than what fits into a string itself"));
  ASSERT_EQ(lines_.size(), 8u);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(lines_[i].substr(0, 6), absl::StrCat("note ", i));
}

// A pipe that nobody reads holds up who has a line to say; answers go on arriving.
TEST_F(BoardTest, WhoSaysNothingIsNotHeldUpByALineThatNobodyReads) {
  absl::Notification saying, read;
  Board board(3, [&](absl::string_view) {
    saying.Notify();
    read.WaitForNotification();
  });
  board.Add("exp_000", "w");
  std::thread talker([&] { board.Note(0, "a word"); });
  saying.WaitForNotification();
  board.Arriving(0, 100, 0);
  EXPECT_THAT(board.state().rows[0].doing, HasSubstr("answer"));
  read.Notify();
  talker.join();
}

TEST_F(BoardTest, OneLineTellsTheWhole) {
  board_.Decided(0, Decided(0, v1::VERDICT_STATUS_CORRECT, 1.25));
  board_.Arriving(1, 2048, 0);
  v1::Usage usage;
  usage.set_prompt_tokens(12'000);
  usage.set_completion_tokens(345);
  usage.set_cost_usd(1.5);
  board_.Spent(usage);
  EXPECT_EQ(BoardLine(board_.state()),
            "0 of 2 ended, 1 answering, 1 turns, 1 correct, best 1.250x, 12,345 tokens, $1.50");
}

TEST_F(BoardTest, NoLineIsWiderOrLowerThanTheScreen) {
  for (int i = 2; i < 100; ++i) board_.Add(absl::StrCat("exp_", i), std::string(200, 'w'));
  board_.Note(0, std::string(300, 'n'));
  for (const ScreenSize size : {ScreenSize{40, 10}, ScreenSize{10, 3}, ScreenSize{200, 50}}) {
    const std::vector<std::string> lines = RenderBoard(board_.state(), Style(false), size);
    EXPECT_LE(lines.size(), std::max<size_t>(size.rows, 5));
    for (const std::string& line : lines) EXPECT_LE(line.size(), std::max<size_t>(size.columns + 2, 15)) << line;
  }
}

TEST_F(BoardTest, ANarrowScreenShowsWhatTellsTrajectoriesApart) {
  board_.Decided(0, Decided(0, v1::VERDICT_STATUS_TIMEOUT));
  board_.Decided(1, Decided(0, v1::VERDICT_STATUS_INCORRECT_NUMERICAL));
  board_.Doing(0, "sanitize");
  const std::vector<std::string> lines = RenderBoard(board_.state(), Style(false), {40, 24});
  EXPECT_EQ(lines[1], "exp_000  t...  sanitize") << "nothing is timed, and there is one workload";
  EXPECT_EQ(lines[3], "t hang  n numbers");
  board_.Decided(1, Decided(1, v1::VERDICT_STATUS_CORRECT, 1.25));
  board_.Add("exp_002", "gemm/M=32");
  EXPECT_EQ(RenderBoard(board_.state(), Style(false), {80, 24})[2],
            "exp_001  n+..    1.250x  waiting                       gemm/M=16");
}

TEST_F(BoardTest, ThoseThatMoveComeFirst) {
  v1::TrajectoryEnded ended;
  ended.set_end(v1::TRAJECTORY_END_TURN_LIMIT);
  board_.Ended(0, ended);
  const std::vector<std::string> lines = RenderBoard(board_.state(), Style(false), {80, 24});
  EXPECT_THAT(lines[1], HasSubstr("exp_001"));
  EXPECT_THAT(lines[2], HasSubstr("ended: TURN_LIMIT"));
}

TEST_F(BoardTest, ALiveViewDrawsTheLastStateBeforeItGoes) {
  std::ostringstream out;
  {
    LiveView view(board_, out, Style(false), [] { return ScreenSize{80, 24}; });
    board_.Doing(1, "compile");
  }
  EXPECT_THAT(out.str(), HasSubstr("compile"));
}

TEST_F(BoardTest, AwaitChangeSeesEachChangeOnce) {
  board_.Doing(0, "x");
  EXPECT_TRUE(board_.AwaitChange());
  board_.Close();
  EXPECT_FALSE(board_.AwaitChange());
}

}  // namespace
}  // namespace sassay::agent
