#include "agent/report/html/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "absl/strings/str_cat.h"
#include "agent/report/html/markup.h"
#include "agent/report/html/plot.h"
#include "agent/report/make_report.h"
#include "agent/report/read/published_turns.h"
#include "agent/report/testing/rows.h"
#include "common/base/files.h"

namespace sassay::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TurnTable Published() {
  TurnTable table;
  const std::string text = *ReadFile(absl::StrCat(SASSAY_TEST_DATA, "/report/published_turns_hopper.csv"));
  EXPECT_TRUE(ReadPublishedTurns(text, "published.csv", 8, table).ok());
  return table;
}

std::string Page(const TurnTable& table, const ReportOptions& options = {}) {
  return HtmlPage(*MakeReport(table, options), table);
}

// Turns with everything that a run can tell.
TurnTable Detailed(size_t models, size_t definitions, size_t trajectories) {
  TurnTable table;
  for (size_t i = 0; i < models * definitions * trajectories; ++i) {
    std::vector<TurnRow> turns;
    for (uint32_t number = 0; number < 8; ++number) {
      TurnRow& turn = turns.emplace_back(MakeTurn(number, static_cast<TurnOutcome>((i + number) % kTurnOutcomes)));
      turn.reason =
          "expected <a> & \"b\", which is a sentence of the usual length for a reason, with values 1.5 and 2.5";
      turn.reasoning_tokens = 1000 * (number + 1);
      turn.device_s = 0.5;
      for (auto& seconds : turn.stage_s) seconds = 1.5;
    }
    TrajectoryRows& rows = table.trajectories.emplace_back(MakeTrajectory(absl::StrCat("exp_", i), std::move(turns)));
    rows.model = absl::StrCat("model ", i % models);
    rows.definition = absl::StrCat("definition_", i / models % definitions);
  }
  return table;
}

TEST(HtmlPage, ShowsThePublishedScores) {
  const std::string page = Page(Published());
  for (const char* text : {"gemm_n7168_k5120", "<b>94.8</b></td><td class=\"n of\">91/96", ">0.976<", "Claude Opus 4.8",
                           "Rules: PTXBench", "<b>480</b> turns"})
    EXPECT_THAT(page, HasSubstr(text));
}

TEST(HtmlPage, DrawsFastPOverTasksWhereThereAreSeveral) {
  EXPECT_THAT(Page(Published()), HasSubstr("all definitions: share of tasks <span class=of>N = 5"));
  EXPECT_THAT(Page(Detailed(2, 1, 2)), Not(HasSubstr("share of tasks")));
}

TEST(HtmlPage, AsksNobodyForAnything) {
  const std::string page = Page(Published());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* word : {"<script", "http:", "https:", "//", "url(", "@import", "src="})
    EXPECT_THAT(page, Not(HasSubstr(word))) << word;
}

TEST(HtmlPage, HostileTextStaysText) {
  const std::string attack = "\"><script>alert(1)</script><img src=x onerror='a'>";
  TurnTable table = Detailed(1, 1, 2);
  table.sources.push_back(attack);
  table.notes.push_back(attack);
  for (TrajectoryRows& rows : table.trajectories) {
    for (std::string* text : {&rows.model, &rows.arch, &rows.definition, &rows.label, &rows.trajectory}) *text = attack;
    for (TurnRow& turn : rows.turns) turn.reason = turn.rules = turn.device = attack;
  }
  ReportOptions options;
  options.group_by = {"label", "device", "rules"};
  const std::string page = Page(table, options);
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script")), Not(HasSubstr("<img"))));
  EXPECT_THAT(page, Not(HasSubstr("\"\">")));
}

TEST(HtmlPage, EveryPictureHasATitleAndATable) {
  const std::string page = Page(Detailed(2, 2, 3));
  const std::regex figure("<figure>[\\s\\S]*?</figure>");
  size_t figures = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), figure), end; at != end; ++at, ++figures)
    EXPECT_THAT(at->str(),
                AllOf(HasSubstr("role=\"img\" aria-labelledby"), HasSubstr("<title id="), HasSubstr("<table>")));
  EXPECT_GT(figures, 8u);
}

TEST(HtmlPage, IdsAreUnique) {
  const std::string page = Page(Detailed(2, 2, 3));
  const std::regex id(" id=\"?([\\w-]+)");
  std::set<std::string> seen;
  for (std::sregex_iterator at(page.begin(), page.end(), id), end; at != end; ++at)
    EXPECT_TRUE(seen.insert((*at)[1]).second) << (*at)[1];
}

TEST(HtmlPage, SaysWhatIsUnavailable) {
  const std::string page = Page(Published());
  EXPECT_THAT(page, HasSubstr("UNAVAILABLE: no turn of these sources says how much the model reasoned."));
  EXPECT_THAT(page, HasSubstr("UNAVAILABLE: no turn of these sources says what it took."));
}

TEST(HtmlPage, TenThousandTurnsStayBelowFiveMegabytes) {
  EXPECT_LT(Page(Detailed(10, 5, 25)).size(), 5'000'000u);
  // One condition for each trajectory is the most that there can be.
  EXPECT_LT(Page(Detailed(1250, 1, 1)).size(), 5'000'000u);
}

TEST(HtmlPage, OfNothingIsAPage) { EXPECT_THAT(Page({}), HasSubstr("</html>")); }

TEST(HtmlPage, TheSameTurnsGiveTheSameBytes) { EXPECT_EQ(Page(Detailed(2, 2, 2)), Page(Detailed(2, 2, 2))); }

TEST(Markup, EscapesAndBounds) {
  EXPECT_EQ(Escaped("a<b>&\"'\n\x1b"), "a&lt;b&gt;&amp;&quot;&#39; / \\x1b");
  EXPECT_EQ(Escaped(std::string(10, 'x'), 4), "xxxx…");
  EXPECT_LT(Escaped(std::string(1000, '<'), 100).size(), 110u);
  EXPECT_EQ(Escaped("é\xff"), "é\\xff");
}

TEST(Markup, TimesHaveSensibleUnits) {
  EXPECT_EQ(SecondsText(0.34), "340 ms");
  EXPECT_EQ(SecondsText(1.234), "1.23 s");
  EXPECT_EQ(SecondsText(3), "3.00 s");
  EXPECT_EQ(SecondsText(82.04), "82.0 s");
  EXPECT_EQ(SecondsText(600), "10.0 min");
  EXPECT_EQ(SecondsText(7560), "2.10 h");
}

TEST(PlotAxis, EndsAtARoundNumber) {
  EXPECT_DOUBLE_EQ(AxisFromZero(0.976, "").high, 1);
  EXPECT_DOUBLE_EQ(AxisFromZero(0.31, "").high, 0.4);
  EXPECT_DOUBLE_EQ(AxisFromZero(12, "").high, 15);
  EXPECT_DOUBLE_EQ(AxisFromZero(0, "").high, 1);
  for (const double maximum : {1e-9, 0.05, 0.7, 3.3, 99.0, 1e6}) {
    EXPECT_GE(AxisFromZero(maximum, "").high, maximum * (1 - 1e-9));
    EXPECT_LE(AxisFromZero(maximum, "").ticks.size(), 7u);
  }
}

}  // namespace
}  // namespace sassay::agent
