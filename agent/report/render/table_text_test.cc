#include "agent/report/render/table_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "agent/report/make_report.h"
#include "agent/report/read/published_turns.h"
#include "agent/report/testing/rows.h"
#include "common/base/files.h"

namespace sassay::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Data(const std::string& path) { return *ReadFile(absl::StrCat(SASSAY_TEST_DATA, "/", path)); }

TEST(TableText, ScoresLookAsInTheGoldenFile) {
  TurnTable table;
  ASSERT_TRUE(ReadPublishedTurns(Data("report/published_turns_hopper.csv"), "published.csv", 8, table).ok());
  EXPECT_EQ(ScoresText(*MakeReport(table, {}), Style(false)), Data("report/scores_hopper.txt"));
}

TEST(TableText, ForeignTextCannotPaintTheTerminal) {
  TurnTable table;
  table.trajectories.push_back(MakeTrajectory("exp_000", std::vector{MakeFastTurn(0, 1.5)}));
  table.trajectories[0].model = "\x1b[2Jm\nx";
  table.trajectories[0].definition = std::string(500, 'd');
  table.notes.push_back("\x1b]0;t\x07");
  const v1::Report report = *MakeReport(table, {});
  EXPECT_THAT(ScoresText(report, Style(false)), AllOf(Not(HasSubstr("\x1b")), HasSubstr("\\x1b[2Jm / x on sm_90a"),
                                                      Not(HasSubstr(std::string(70, 'd')))));
  EXPECT_THAT(SectionText(SectionTable(ReportSection::kTurns, report, table), report, Style(false)),
              Not(HasSubstr("\x1b")));
}

TEST(TableText, ColoursDoNotMoveColumns) {
  TurnTable table;
  table.trajectories.push_back(MakeTrajectory("exp_000", std::vector{MakeFastTurn(0, 1.5)}));
  const v1::Report report = *MakeReport(table, {});
  std::string coloured = ScoresText(report, Style(true));
  for (size_t at; (at = coloured.find('\x1b')) != std::string::npos;)
    coloured.erase(at, coloured.find('m', at) - at + 1);
  EXPECT_EQ(coloured, ScoresText(report, Style(false)));
}

TEST(TableText, WhatIsAbsentIsADash) {
  TurnTable table;
  table.trajectories.push_back(MakeTrajectory("exp_000", std::vector{MakeFastTurn(0, 0.5)}));
  table.trajectories[0].turn_limit = 1;
  const std::string text = ScoresText(*MakeReport(table, {}), Style(false));
  EXPECT_THAT(
      text,
      HasSubstr(
          "\n                8          –                     –          –                     –         –      –\n"));
}

}  // namespace
}  // namespace sassay::agent
