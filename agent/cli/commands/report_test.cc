// `mini-ptx-agent report` from its command line to what it writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "agent/cli/app.h"
#include "common/base/files.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr char kTurns[] =
    "model,arch,definition,workload,trajectory_id,turn,correctness,speedup,correct_with_arch,label\n"
    "M,hopper,gemm,w,exp_000,0,Compilation error,0,0,a\n"
    "M,hopper,gemm,w,exp_000,1,Correct,0.5,1,a\n"
    "M,hopper,gemm,w,exp_001,0,Correct,0.25,0,b\n";

class ReportCommandTest : public ::testing::Test {
 protected:
  ReportCommandTest() : home_(*TemporaryDirectory::Create("report")) { Write("turns.csv", kTurns); }

  void Write(const char* name, absl::string_view text) {
    ASSERT_TRUE(WriteFileAtomically(home_.path() / name, text).ok());
  }

  int Run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    arguments.insert(arguments.begin(), "report");
    return RunAgent(arguments, {&out_, &err_, false, false, {{"HOME", home_.path()}}, home_.path()});
  }

  TemporaryDirectory home_;
  std::ostringstream out_, err_;
};

TEST_F(ReportCommandTest, PrintsTheScores) {
  EXPECT_EQ(Run({"turns.csv"}), 0);
  EXPECT_THAT(out_.str(), AllOf(StartsWith("M on hopper\n"), HasSubstr("label \"a\", \"b\". --group-by label")));
  EXPECT_THAT(err_.str(), IsEmpty());
}

TEST_F(ReportCommandTest, RefusesANameWhoseFormatItCannotWrite) {
  EXPECT_EQ(Run({"turns.csv", "-o", "scores.pdf"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("expected a name that ends in .html, .csv or .txt, not in .pdf"));
  EXPECT_FALSE(std::filesystem::exists(home_.path() / "scores.pdf"));
  EXPECT_EQ(Run({"turns.csv", "-o", "scores.pdf", "--format", "table"}), 0);
  EXPECT_EQ(Run({"turns.csv", "-o", "scores.txt"}), 0);
  EXPECT_EQ(Run({"turns.csv", "-o", "scores"}), 0);
}

TEST_F(ReportCommandTest, CsvHasOneRowForEachTurnLimit) {
  EXPECT_EQ(Run({"turns.csv", "--format", "csv", "--turns", "2,1"}), 0);
  EXPECT_EQ(out_.str(),
            "model,arch,definition,trajectories,turn_limit,turn_correct_with_target,turn_correct,trajectory_rate_with_"
            "target,trajectory_rate,best_speedup_with_target,best_speedup\n"
            "M,hopper,gemm,2,1,0,0.5,0,0.5,0,0.25\n"
            "M,hopper,gemm,2,2,0.25,0.5,0.5,1,0.5,0.5\n");
}

TEST_F(ReportCommandTest, ATerminalDoesNotObeyNames) {
  std::string turns = kTurns;
  turns.replace(turns.find("\nM,") + 1, 1, "M\x1b[2J");
  Write("turns.csv", turns);
  const std::vector<std::string> arguments = {"report", "turns.csv", "--format", "csv", "--turns", "1"};
  EXPECT_EQ(RunAgent(arguments, {&out_, &err_, true, true, {{"HOME", home_.path()}}, home_.path()}), 0);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("M\\x1b[2J,hopper"), ::testing::Not(HasSubstr("\x1b"))));
}

TEST_F(ReportCommandTest, GroupByTakesSeveralKeysInEitherForm) {
  EXPECT_EQ(
      Run({"turns.csv", "--format", "csv", "--group-by", "model,label", "--group-by", "language", "--turns", "1"}), 0);
  EXPECT_THAT(out_.str(), AllOf(StartsWith("model,arch,definition,label,language,trajectories,"),
                                HasSubstr("\nM,hopper,gemm,a,,1,1,0,0,0,0,0,0\n")));
}

TEST_F(ReportCommandTest, ASourceMayFollowAList) {
  EXPECT_EQ(Run({"--turns", "1", "--group-by", "label", "turns.csv"}), 0);
  EXPECT_THAT(out_.str(), StartsWith("M on hopper, label a\n"));
}

TEST_F(ReportCommandTest, SectionsAreTables) {
  EXPECT_EQ(Run({"turns.csv", "--section", "transitions", "--format", "csv"}), 0);
  EXPECT_EQ(out_.str(),
            "model,arch,definition,from,to,count,share\nM,hopper,gemm,COMPILE_ERROR,CORRECT_WITH_TARGET,1,1\n");
}

TEST_F(ReportCommandTest, NameOfTheFileChoosesTheFormat) {
  EXPECT_EQ(Run({"turns.csv", "-o", "out.html"}), 0);
  EXPECT_THAT(*ReadFile(home_.path() / "out.html"), StartsWith("<!doctype html>"));
  EXPECT_THAT(out_.str(), IsEmpty());
  EXPECT_THAT(err_.str(), StartsWith("wrote out.html ("));
}

TEST_F(ReportCommandTest, JsonIsOneDocumentBesideTheFile) {
  EXPECT_EQ(Run({"turns.csv", "-o", "out.csv", "--json"}), 0);
  const Json report = Json::parse(out_.str());
  EXPECT_EQ(report["turns"], 3);
  EXPECT_EQ(report["groups"][0]["scores"][2]["turn_limit"], 8);
  EXPECT_EQ(report["groups"][0]["scores"][2]["turn_correct"], 2.0 / 16);
  EXPECT_THAT(*ReadFile(home_.path() / "out.csv"), StartsWith("model,arch,"));
}

TEST_F(ReportCommandTest, MistakesAreUsageErrorsThatTeach) {
  EXPECT_EQ(Run({"turns.csv", "--section", "fast"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("Did you mean \"fastp\"?"));
  EXPECT_EQ(Run({"turns.csv", "--group-by", "modle"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("Did you mean \"model\"?"));
  EXPECT_EQ(Run({"turns.csv", "--section", "errors", "-o", "x.html"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("a page holds every section"));
  EXPECT_EQ(Run({"turns.csv", "--turns", "1,x"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--turns: expected whole numbers from 1 to 10000, not \"x\""));
  EXPECT_EQ(Run({"nothing"}), 2);
  Write("turns.csv", "model,arch\n\"");
  EXPECT_EQ(Run({"turns.csv"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("turns.csv: line 1, column 1: column \"definition\" is missing"));
}

}  // namespace
}  // namespace sassay::agent
