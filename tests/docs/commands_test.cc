// Every block of commands that a document prints is executed, or says why it is not.
//
// A comment right before a block says which:
//   <!-- run -->               executed by this test, as a reader would: in a fresh folder that looks like the
//   repository
//                              and holds the reader's own files (readers_files.sh), with a service on an emulated
//                              device
//   <!-- run; TEXT: REASON --> but for lines that hold TEXT, for one of the reasons below
//   <!-- run, status 1 -->     its last command ends with that status
//   <!-- run by FILE -->       another test executes it: FILE of the repository names what is run
//   <!-- not run: REASON -->
// and <!-- serve: ARGUMENTS --> starts the service again, with these, before the block.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "tests/docs/markdown.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

// Why a command may stand in a document and be executed by no test here. Nothing else counts.
const std::set<std::string>& Reasons() {
  static const std::set<std::string> reasons = {
      "a GPU",          // times, profilers, device control
      "root",           // users, units, folders of the system
      "Docker",         // a daemon that starts containers
      "Kubernetes",     // a cluster
      "Slurm",          // a cluster; tests/slurm has one of its own
      "PostgreSQL",     // a server; tests of the store start their own
      "a model",        // a server that costs money or a GPU
      "installs",       // changes the machine, or builds everything
      "goes on",        // serves until it is stopped
      "another host",   // names one
      "a finished run"  // of a model
  };
  return reasons;
}

// Names in documents that stand for the reader's own.
const std::vector<std::pair<std::string, std::string>>& Substitutions() {
  static const std::vector<std::pair<std::string, std::string>> pairs = {{"127.0.0.1:41803", "$SASSAY_SERVICE"},
                                                                         {"127.0.0.1:50051", "$SASSAY_SERVICE"},
                                                                         {"GPU-6f3e", "emulated:sm_90a#0"}};
  return pairs;
}

// What of a document is history, a record, or for other readers.
bool IsManual(const fs::path& path) {
  const std::string name = fs::relative(path, SourcePath("")).string();
  for (const char* folder :
       {"docs/measurements/", "docs/decisions/", "build/", ".venv/", "agent/knowledge/", "agent/feedback/"})
    if (absl::StartsWith(name, folder)) return false;
  return name != "CHANGELOG.md" && name != "docs/roadmap.md";
}

std::map<std::string, Document> Manuals() {
  std::map<std::string, Document> manuals;
  static const std::set<std::string> foreign = {"build", ".venv", ".git", ".carry"};
  for (fs::recursive_directory_iterator entry(SourcePath("")), end; entry != end; ++entry) {
    const fs::path& path = entry->path();
    if (entry->is_directory() && (foreign.count(path.filename().string()) > 0 || entry->is_symlink())) {
      entry.disable_recursion_pending();
    } else if (path.extension() == ".md" && IsManual(path)) {
      manuals[fs::relative(path, SourcePath("")).string()] = ParseMarkdown(*ReadFile(path));
    }
  }
  return manuals;
}

// The program that a line of shell begins with: "$ A=b bin/tool x" begins with "bin/tool".
std::string ProgramOf(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  absl::ConsumePrefix(&line, "$ ");
  for (const absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
    if (!absl::StrContains(word.substr(0, word.find('/')), "=")) return std::string(word);
  }
  return "";
}

// Whether somebody could type it: ours, a program of this machine, a script of ours, or one of those that a cluster
// has.
bool IsCommand(absl::string_view line) {
  static const std::set<std::string> known = {"mini-ptx-agent", "profiler-service", "reliability-monitor",
                                              "sassay-admin",   "vendor-kernels",   "docker",
                                              "kubectl",        "sbatch",           "squeue",
                                              "scancel",        "nvidia-smi",       "sudo",
                                              "systemctl",      "useradd",          "pip"};
  const std::string program = ProgramOf(line);
  // Drawings hold names of programs, too.
  if (absl::StrContains(line, "│") || absl::StrContains(line, "──")) return false;
  if (program.empty() || program.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-./") != std::string::npos)
    return false;
  if (known.count(fs::path(program).filename().string()) > 0) return true;
  if (absl::StrContains(program, "/")) return fs::is_regular_file(SourcePath(program));
  return FindProgram(program).ok();
}

bool HoldsCommands(const CodeBlock& block) {
  static const std::set<std::string> shells = {"", "bash", "console", "sh"};
  return shells.count(block.language) > 0 && std::any_of(block.lines.begin(), block.lines.end(), IsCommand);
}

// What a block's mark asks for.
struct Plan {
  bool run = false;
  int status = 0;  // that the block ends with
  std::string run_by;
  std::vector<std::string> left_out;  // lines with one of these
  std::string problem;
};

void CheckReason(const std::string& reason, Plan& plan) {
  if (Reasons().count(reason) > 0) return;
  plan.problem =
      absl::StrCat("\"", reason, "\" is no reason not to run it; there are: ", absl::StrJoin(Reasons(), ", "));
}

Plan PlanOf(const CodeBlock& block) {
  Plan plan;
  plan.problem = "no mark: put <!-- run --> before it, or see commands_test.cc for what else there is";
  for (absl::string_view mark : block.marks) {
    const std::vector<std::string> parts = absl::StrSplit(mark, "; ");
    if (absl::ConsumePrefix(&mark, "run by ")) {
      plan.problem.clear();
      plan.run_by = std::string(mark);
    } else if (absl::ConsumePrefix(&mark, "not run: ")) {
      plan.problem.clear();
      CheckReason(std::string(mark), plan);
    } else if (parts.front() == "run" || absl::StartsWith(parts.front(), "run, status ")) {
      plan.problem.clear();
      plan.run = true;
      plan.status = parts.front() == "run" ? 0 : std::atoi(parts.front().substr(12).c_str());
      for (size_t i = 1; i < parts.size(); ++i) {
        const std::pair<std::string, std::string> rest = absl::StrSplit(parts[i], absl::MaxSplits(": ", 1));
        plan.left_out.push_back(rest.first);
        CheckReason(rest.second, plan);
      }
    }
  }
  return plan;
}

// A line that ends with a backslash goes on in the next one.
std::vector<std::string> WholeLines(const std::vector<std::string>& lines) {
  std::vector<std::string> whole;
  bool goes_on = false;
  for (const std::string& line : lines) {
    if (goes_on)
      absl::StrAppend(&whole.back(), "\n", line);
    else
      whole.push_back(line);
    goes_on = absl::EndsWith(line, "\\");
  }
  return whole;
}

// The script of a block that is run: of a transcript what follows "$ ", of any other block all of it.
std::string ScriptOf(const CodeBlock& block, const std::vector<std::string>& left_out) {
  const bool transcript = std::any_of(block.lines.begin(), block.lines.end(),
                                      [](const std::string& line) { return absl::StartsWith(line, "$ "); });
  std::string script;
  for (const std::string& line : WholeLines(block.lines)) {
    absl::string_view command = line;
    if (transcript && !absl::ConsumePrefix(&command, "$ ")) continue;
    if (absl::StartsWith(command, "…")) continue;
    const bool out = std::any_of(left_out.begin(), left_out.end(),
                                 [&](const std::string& text) { return absl::StrContains(command, text); });
    if (!out) absl::StrAppend(&script, command, "\n");
  }
  return absl::StrReplaceAll(script, Substitutions());
}

// One document's reader.
class Reader {
 public:
  void Prepare() {
    for (const fs::directory_entry& entry : fs::directory_iterator(SourcePath(""))) {
      static const std::set<std::string> hidden = {"build", ".git", "runs"};
      if (hidden.count(entry.path().filename().string()) == 0)
        fs::create_symlink(entry.path(), folder_.path() / entry.path().filename());
    }
    Serve("");
    Run(absl::StrCat(". ", SourcePath("tests/docs/readers_files.sh")), "the reader's files");
  }

  void Serve(const std::string& arguments) {
    service_.reset();
    std::vector<std::string> words = absl::StrSplit(arguments, ' ', absl::SkipEmpty());
    for (std::string& word : words) {
      word = absl::StrReplaceAll(word, {{"$PORT", folder_.path().string()}});
      if (fs::exists(folder_.path() / word)) word = (folder_.path() / word).string();
    }
    auto started = Service::Start("", words);
    ASSERT_TRUE(started.ok()) << started.status();
    service_ = *std::move(started);
  }

  void Run(const std::string& script, const std::string& what, int status = 0) {
    Command command = AgentCommand({}, folder_.path().string());
    command.argv = {"/bin/bash", "-euo", "pipefail", "-c", script};
    command.working_directory = folder_.path();
    command.environment["PATH"] = absl::StrCat(SASSAY_PROGRAMS, ":", std::getenv("PATH"));
    command.environment["PORT"] = folder_.path().string();
    command.environment["SASSAY_SERVICE"] = service_->address();
    const auto report = RunToCompletion(command, absl::Minutes(5));
    ASSERT_TRUE(report.ok()) << what << ": " << report.status();
    EXPECT_TRUE(report->kind == ExitReport::Kind::kExited && report->exit_code == status)
        << what << ": " << DescribeExit(*report) << "\n"
        << script << report->stdout_text << report->stderr_text;
  }

 private:
  TemporaryDirectory folder_ = *TemporaryDirectory::Create("reader");
  std::unique_ptr<Service> service_;
};

std::string Place(const std::string& document, const CodeBlock& block) {
  return absl::StrCat(document, ":", block.line);
}

TEST(DocumentCommandsTest, EveryBlockOfCommandsIsRunOrSaysWhyNot) {
  int blocks = 0;
  for (const auto& [name, document] : Manuals()) {
    for (const CodeBlock& block : document.blocks) {
      if (!HoldsCommands(block)) continue;
      ++blocks;
      const Plan plan = PlanOf(block);
      EXPECT_THAT(plan.problem, IsEmpty()) << Place(name, block) << ": " << block.lines.front();
      for (const std::string& text : plan.left_out) {
        const bool there = std::any_of(block.lines.begin(), block.lines.end(),
                                       [&](const std::string& line) { return absl::StrContains(line, text); });
        EXPECT_TRUE(there) << Place(name, block) << ": no line holds \"" << text << "\"";
      }
    }
  }
  EXPECT_GT(blocks, 25) << "blocks are not found any more";
}

TEST(DocumentCommandsTest, WhatAnotherTestRunsIsNamedThere) {
  for (const auto& [name, document] : Manuals()) {
    for (const CodeBlock& block : document.blocks) {
      const std::string by = PlanOf(block).run_by;
      if (by.empty()) continue;
      const absl::StatusOr<std::string> test = ReadFile(SourcePath(by));
      ASSERT_TRUE(test.ok()) << Place(name, block) << ": " << test.status();
      for (const std::string& line : block.lines) {
        if (!IsCommand(line)) continue;
        const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
        const bool named = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
          return word.size() > 3 && absl::StrContains(*test, fs::path(word).filename().string());
        });
        EXPECT_TRUE(named) << Place(name, block) << ": " << by << " names nothing of: " << line;
      }
    }
  }
}

// One for each document that has blocks to run.
class ManualTest : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> ManualsToRun() {
  std::vector<std::string> names;
  for (const auto& [name, document] : Manuals()) {
    const bool any = std::any_of(document.blocks.begin(), document.blocks.end(),
                                 [](const CodeBlock& block) { return HoldsCommands(block) && PlanOf(block).run; });
    if (any) names.push_back(name);
  }
  return names;
}

TEST_P(ManualTest, ItsCommandsDoWhatTheyAreFor) {
  if (!FindProgram("jq").ok()) GTEST_SKIP() << "no jq: apt-get install jq";
  const Document document = ParseMarkdown(*ReadFile(SourcePath(GetParam())));
  Reader reader;
  reader.Prepare();
  for (const CodeBlock& block : document.blocks) {
    const Plan plan = PlanOf(block);
    if (HasFatalFailure()) return;
    for (absl::string_view mark : block.marks) {
      if (absl::ConsumePrefix(&mark, "serve: ")) reader.Serve(std::string(mark));
    }
    if (HoldsCommands(block) && plan.run)
      reader.Run(ScriptOf(block, plan.left_out), Place(GetParam(), block), plan.status);
  }
}

INSTANTIATE_TEST_SUITE_P(Documents, ManualTest, ::testing::ValuesIn(ManualsToRun()), [](const auto& info) {
  std::string name;
  for (const char c : info.param) name += absl::ascii_isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});

CodeBlock Block(const std::string& text) { return ParseMarkdown(text).blocks.at(0); }

TEST(MarksTest, ABlockWithoutAMarkIsAProblem) {
  EXPECT_TRUE(HoldsCommands(Block("```\nmini-ptx-agent doctor\n```\n")));
  EXPECT_NE(PlanOf(Block("```\nmini-ptx-agent doctor\n```\n")).problem, "");
  EXPECT_NE(PlanOf(Block("<!-- run -->\nwords between\n\n    mini-ptx-agent doctor\n")).problem, "");
  EXPECT_NE(PlanOf(Block("<!-- not run: no time -->\n```\nmini-ptx-agent doctor\n```\n")).problem, "");
  EXPECT_NE(PlanOf(Block("<!-- run; doctor: too slow -->\n```\nmini-ptx-agent doctor\n```\n")).problem, "");
  EXPECT_EQ(PlanOf(Block("<!-- run -->\n\n    mini-ptx-agent doctor\n")).problem, "");
  EXPECT_EQ(PlanOf(Block("<!-- not run: a GPU -->\n```\nmini-ptx-agent bench a.cu\n```\n")).problem, "");
}

TEST(MarksTest, ABlockWithoutCommandsNeedsNone) {
  for (const char* text : {"```json\n{\"a\": 1}\n```\n", "```\nrules {\n```\n", "    PreemptMode=REQUEUE\n",
                           "```python\nimport sassay\n```\n", "    ┌──┐ profiler-service\n"}) {
    EXPECT_FALSE(HoldsCommands(Block(text))) << text;
  }
  EXPECT_TRUE(HoldsCommands(Block("    $ A=b mini-ptx-agent doctor\n")));
  EXPECT_TRUE(HoldsCommands(Block("    bash deploy/quickstart.sh\n")));
  EXPECT_TRUE(HoldsCommands(Block("    deploy/package.sh x.tar.gz\n")));
}

TEST(MarksTest, ScriptsHoldWhatIsTypedAndNothingElse) {
  EXPECT_EQ(ScriptOf(Block("    $ one 127.0.0.1:50051\n    what it prints\n    $ two\n"), {}),
            "one $SASSAY_SERVICE\ntwo\n");
  EXPECT_EQ(ScriptOf(Block("    one \\\n      --flag\n    …wait…\n    two   # words\n"), {}),
            "one \\\n  --flag\ntwo   # words\n");
  EXPECT_EQ(ScriptOf(Block("    one \\\n      --flag\n    two\n"), {"--flag"}), "two\n");
}

}  // namespace
}  // namespace sassay::testing
