#include "agent/report/make_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/report/groups.h"
#include "agent/report/read/published_turns.h"
#include "agent/report/render/csv_text.h"
#include "agent/report/testing/rows.h"
#include "common/base/files.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string Data(const char* name) { return *ReadFile(absl::StrCat(SASSAY_TEST_DATA, "/report/", name)); }

TurnTable Published() {
  TurnTable table;
  EXPECT_TRUE(ReadPublishedTurns(Data("published_turns_hopper.csv"), "published", 8, table).ok());
  return table;
}

std::string PrintedRow(const v1::GroupReport& group, const v1::TurnLimitScore& s) {
  return fmt::format("{},{},{:.1f},{:.1f},{:.1f},{:.1f},{:.3f},{:.3f}", group.group().definition(), s.turn_limit(),
                     100 * s.turn_correct_with_target(), 100 * s.turn_correct(), 100 * s.trajectory_rate_with_target(),
                     100 * s.trajectory_rate(), s.best_speedup_with_target(), s.best_speedup());
}

TEST(MakeReport, ReproducesThePublishedRowsToThePrintedDigit) {
  const absl::StatusOr<v1::Report> report = MakeReport(Published(), {});
  ASSERT_TRUE(report.ok()) << report.status();
  std::vector<std::string> rows;
  for (const v1::GroupReport& group : report->groups()) {
    for (const v1::TurnLimitScore& score : group.scores()) rows.push_back(PrintedRow(group, score));
  }
  std::vector<std::string> expected = absl::StrSplit(Data("published_rows_hopper.csv"), '\n', absl::SkipEmpty());
  expected.erase(expected.begin());
  ASSERT_THAT(expected, SizeIs(15));
  EXPECT_THAT(rows, ElementsAreArray(expected));
}

// The fractions in full are those of the definition, not of what is printed.
TEST(MakeReport, KeepsFullPrecision) {
  const v1::Report report = *MakeReport(Published(), {});
  const v1::TurnLimitScore& gemm = report.groups(0).scores(2);
  EXPECT_EQ(gemm.turn_correct_with_target(), 91.0 / 96);
  EXPECT_EQ(gemm.best_speedup(), 0.9756291857985113);
  const TurnTable table = Published();
  const std::string csv = CsvText(SectionTable(ReportSection::kScores, report, table));
  EXPECT_THAT(csv, HasSubstr("Claude Opus 4.8,hopper,gemm_n7168_k5120,12,8,0.9479166666666666,0.9479166666666666,1,1,"
                             "0.9756291857985113,0.9756291857985113\n"));
}

TEST(MakeReport, CsvBeginsWithTheAgreedColumns) {
  const std::string csv = CsvText(SectionTable(ReportSection::kScores, *MakeReport(Published(), {}), {}));
  EXPECT_EQ(csv.substr(0, csv.find('\n')),
            "model,arch,definition,trajectories,turn_limit,turn_correct_with_target,turn_correct,trajectory_rate_with_"
            "target,trajectory_rate,best_speedup_with_target,best_speedup");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 16);
}

TEST(MakeReport, CountsEveryPublishedTurnOnce) {
  const v1::Report report = *MakeReport(Published(), {});
  EXPECT_EQ(report.turns(), 480u);
  EXPECT_EQ(report.trajectories(), 60u);
  EXPECT_EQ(report.excluded(), 0u);
  EXPECT_THAT(report.rules(), ElementsAre(kPublishedRules));
  uint32_t transitions = 0, outcomes = 0;
  for (const v1::GroupReport& group : report.groups()) {
    for (const auto& transition : group.transitions()) transitions += transition.count();
    for (const auto& outcome : group.outcomes()) outcomes += outcome.count();
  }
  EXPECT_EQ(transitions, 60u * 7);
  EXPECT_EQ(outcomes, 480u);
}

TurnTable TwoLabels() {
  TurnTable table;
  for (const char* label : {"a", "b"}) {
    table.trajectories.push_back(MakeTrajectory("exp_000", std::vector{MakeFastTurn(0, 0.5)}));
    table.trajectories.back().label = label;
  }
  return table;
}

TEST(MakeReport, GroupByKeepsConditionsApartAndAddsTheirColumn) {
  EXPECT_THAT(MakeReport(TwoLabels(), {})->groups(), SizeIs(1));
  ReportOptions options;
  options.group_by = *ParseGroupBy({"model", "label", "label"});
  const v1::Report report = *MakeReport(TwoLabels(), options);
  ASSERT_THAT(report.groups(), SizeIs(2));
  const std::string csv = CsvText(SectionTable(ReportSection::kScores, report, {}));
  EXPECT_THAT(csv, HasSubstr("model,arch,definition,label,trajectories"));
  EXPECT_THAT(csv, HasSubstr("model,sm_90a,gemm,b,1,1,1,1,1,1,0.5,0.5\n"));
}

TEST(MakeReport, SaysWhatItCountsTogether) {
  EXPECT_THAT(MakeReport(TwoLabels(), {})->notes(),
              Contains(HasSubstr("Counted together: label \"a\", \"b\". --group-by label")));
  ReportOptions options;
  options.group_by = {"label"};
  EXPECT_THAT(MakeReport(TwoLabels(), options)->notes(), Not(Contains(HasSubstr("Counted together"))));
}

TEST(MakeReport, SaysThatADeviceWasEmulated) {
  TurnTable table = TwoLabels();
  EXPECT_THAT(MakeReport(table, {})->notes(), Not(Contains(HasSubstr("emulated"))));
  table.trajectories[0].turns[0].device = "emulated sm_90a";
  EXPECT_THAT(MakeReport(table, {})->notes(), Contains(HasSubstr("emulated device (emulated sm_90a)")));
}

TEST(MakeReport, UnknownGroupKeyIsRefusedWithTheNearest) {
  const absl::Status status = ParseGroupBy({"lable"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("Did you mean \"label\"?"), HasSubstr("Keys: model,arch")));
}

TEST(MakeReport, RefusesToMixRulesUnlessAsked) {
  TurnTable table = TwoLabels();
  table.trajectories[1].turns[0].rules = "2027.3";
  const absl::Status status = MakeReport(table, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("2026.1, 2027.3"), HasSubstr("--mix")));
  ReportOptions options;
  options.mix_rules = true;
  options.group_by = {"rules"};
  EXPECT_THAT(MakeReport(table, options)->groups(), SizeIs(2));
}

TEST(MakeReport, RulesOfWhatDoesNotCountDoNotMatter) {
  TurnTable table = TwoLabels();
  table.trajectories[1].turns[0].rules = "2027.3";
  table.trajectories[1].turns[0].excluded = Excluded::kLost;
  EXPECT_TRUE(MakeReport(table, {}).ok());
}

TEST(MakeReport, OfNothingIsEmpty) {
  const v1::Report report = *MakeReport({}, {});
  EXPECT_THAT(report.groups(), IsEmpty());
  EXPECT_EQ(report.turns(), 0u);
}

TEST(Sections, AllHaveRowsAsWideAsTheirHeader) {
  const TurnTable table = Published();
  const v1::Report report = *MakeReport(table, {});
  for (const std::string& name : SectionNames()) {
    const ReportTable section = SectionTable(*ParseSection(name), report, table);
    for (const auto& row : section.rows) ASSERT_EQ(row.size(), section.header.size()) << name;
    const bool published = name != "reasoning" && name != "stages";
    EXPECT_EQ(section.rows.empty(), !published) << name;
  }
}

TEST(Sections, FastPStepsHaveTrajectoriesAndTasks) {
  const TurnTable table = Published();
  const std::string csv = CsvText(SectionTable(ReportSection::kFastP, *MakeReport(table, {}), table));
  EXPECT_THAT(csv, HasSubstr("model,arch,definition,unit,units,turn_limit,p,fast_p_with_target,fast_p\n"));
  EXPECT_THAT(csv, HasSubstr("Claude Opus 4.8,hopper,gemm_n7168_k5120,trajectory,12,8,0,1,1\n"));
  EXPECT_THAT(csv, HasSubstr("Claude Opus 4.8,hopper,,task,5,8,0,1,1\n"));
  EXPECT_THAT(csv, HasSubstr("Claude Opus 4.8,hopper,,task,5,1,0,0.8,1\n"));
}

TEST(Sections, CsvQuotesWhatNeedsIt) {
  TurnTable table = TwoLabels();
  table.trajectories[0].model = table.trajectories[1].model = "a \"b\", c\nd";
  EXPECT_THAT(CsvText(SectionTable(ReportSection::kErrors, *MakeReport(table, {}), table)),
              HasSubstr("\n\"a \"\"b\"\", c\nd\",sm_90a,gemm,0,CORRECT_WITH_TARGET,2,1\n"));
}

TEST(Sections, NumbersReadBackAsTheyWere) {
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1e300, 0.9756291857985113}) {
    EXPECT_EQ(std::strtod(ShortestNumber(value).c_str(), nullptr), value);
  }
  EXPECT_EQ(ShortestNumber(0.5), "0.5");
  EXPECT_EQ(ShortestNumber(1), "1");
}

}  // namespace
}  // namespace sassay::agent
