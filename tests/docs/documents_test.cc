// A document that names a file, a command or a flag that is not there sends its reader astray, and nothing else
// notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "tests/docs/command_lines.h"
#include "tests/docs/markdown.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const fs::path& Root() {
  static const fs::path root = SASSAY_SOURCE_DIR;
  return root;
}

// Texts that are shown to models, and notes, have rules of their own (agent/knowledge); builds and environments are not
// the project's.
bool IsPassedOver(const fs::path& folder) {
  static const std::set<std::string> names = {"build", ".venv", ".git", ".carry", "testdata", "text"};
  return names.count(folder.filename().string()) > 0;
}

std::vector<fs::path> Files(const std::set<std::string>& endings) {
  std::vector<fs::path> found;
  for (fs::recursive_directory_iterator entry(Root()), end; entry != end; ++entry) {
    if (entry->is_directory() && (IsPassedOver(entry->path()) || entry->is_symlink())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && endings.count(entry->path().extension().string()) > 0) {
      found.push_back(entry->path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

const std::map<fs::path, Document>& Documents() {
  static const std::map<fs::path, Document> documents = [] {
    std::map<fs::path, Document> read;
    for (const fs::path& path : Files({".md"})) read[path] = ParseMarkdown(*ReadFile(path));
    return read;
  }();
  return documents;
}

std::string Named(const fs::path& path) { return fs::relative(path, Root()).string(); }

bool LeadsOut(const std::string& link) { return std::regex_search(link, std::regex("^[a-z]+:")); }

// Whether the link of the document `from` leads somewhere.
bool Resolves(const fs::path& from, const std::string& link) {
  const size_t hash = link.find('#');
  const fs::path target = hash == 0 ? from : (from.parent_path() / link.substr(0, hash)).lexically_normal();
  if (!fs::exists(target)) return false;
  if (hash == std::string::npos || target.extension() != ".md") return true;
  return ParseMarkdown(*ReadFile(target)).anchors.count(link.substr(hash + 1)) > 0;
}

Programs OurPrograms() {
  return Programs({"mini-ptx-agent", "profiler-service", "reliability-monitor", "sassay-admin", "vendor-kernels"},
                  [](const std::vector<std::string>& command) { return RunHelp(SASSAY_PROGRAMS, command); });
}

TEST(DocumentsTest, EveryLinkLeadsSomewhere) {
  int links = 0;
  for (const auto& [path, document] : Documents()) {
    for (const std::string& link : document.links) {
      if (LeadsOut(link)) continue;
      ++links;
      EXPECT_TRUE(Resolves(path, link)) << Named(path) << " links to " << link;
    }
  }
  EXPECT_GT(links, 50) << "links are not found any more";
}

// A header, a test or a candidate may be named without its ending.
bool IsThere(const std::string& path) {
  const auto exists = [&](const char* ending) { return fs::exists(Root() / absl::StrCat(path, ending)); };
  return exists("") || exists(".h") || exists(".cc") || exists(".cu");
}

// Also "monitor/rules" and "docs/report.md" between backticks.
TEST(DocumentsTest, EveryPathIsThere) {
  static const std::regex path_text(
      "(agent|common|deploy|docs|monitor|profiler_service|proto|tests)/[A-Za-z0-9_./-]*[A-Za-z0-9_]/?");
  int paths = 0;
  for (const auto& [path, document] : Documents()) {
    // What was, is history.
    if (path.filename() == "CHANGELOG.md" || absl::StrContains(path.string(), "/measurements/")) continue;
    for (const std::string& span : document.spans) {
      if (!std::regex_match(span, path_text)) continue;
      ++paths;
      EXPECT_TRUE(IsThere(span)) << Named(path) << " names " << span;
    }
  }
  EXPECT_GT(paths, 50) << "paths are not found any more";
}

TEST(DocumentsTest, EveryDocumentThatASourceNamesIsThere) {
  static const std::regex name("(?:^|[^/A-Za-z])(docs/[A-Za-z0-9_/-]+\\.md)\\b");
  int names = 0;
  for (const fs::path& path : Files({".h", ".cc", ".proto", ".py", ".sh", ".yml"})) {
    const std::string text = *ReadFile(path);
    for (std::sregex_iterator found(text.begin(), text.end(), name), end; found != end; ++found, ++names) {
      EXPECT_TRUE(IsThere((*found)[1])) << Named(path) << " names " << (*found)[1];
    }
  }
  EXPECT_GT(names, 10) << "names are not found any more";
}

TEST(DocumentsTest, EveryCommandLineIsOneThatItsProgramKnows) {
  Programs programs = OurPrograms();
  for (const auto& [path, document] : Documents()) {
    std::vector<std::string> lines = document.code_lines;
    lines.insert(lines.end(), document.spans.begin(), document.spans.end());
    for (const std::string& line : lines)
      EXPECT_THAT(programs.Problems(line), IsEmpty()) << Named(path) << ": " << line;
  }
  EXPECT_GT(programs.seen(), 80) << "command lines are not found any more";
}

void CheckHelp(Programs& programs, std::vector<std::string> command) {
  const Help help = programs.HelpFor(command);
  const bool agent = command.front() == "mini-ptx-agent";
  EXPECT_FALSE(help.flags.empty()) << ::testing::PrintToString(command) << " prints no help";
  EXPECT_TRUE(!agent || !help.examples.empty()) << ::testing::PrintToString(command) << " shows no example";
  for (const std::string& example : help.examples)
    EXPECT_THAT(programs.Problems(example), IsEmpty()) << ::testing::PrintToString(command) << ": " << example;
  for (const std::string& subcommand : help.subcommands) {
    command.push_back(subcommand);
    CheckHelp(programs, command);
    command.pop_back();
  }
}

TEST(DocumentsTest, EveryExampleOfAHelpIsOneThatItsProgramKnows) {
  Programs programs = OurPrograms();
  for (const std::string& name : programs.names()) CheckHelp(programs, {name});
  EXPECT_GT(programs.seen(), 50) << "examples are not found any more";
}

TEST(MarkdownTest, LinksHeadingsSpansAndCodeAreToldApart) {
  const Document document = ParseMarkdown(
      "# The `one` thing\n[a](b.md#c) and `[no](link)`\n\n    indented --flag\n\n```bash\nrun \\\n  "
      "--this\n```\n![p](i.png)\n");
  EXPECT_THAT(document.links, ElementsAre("b.md#c", "i.png"));
  EXPECT_THAT(document.anchors, ElementsAre("the-one-thing"));
  EXPECT_THAT(document.spans, ElementsAre("one", "[no](link)"));
  EXPECT_THAT(document.code_lines, ElementsAre("indented --flag", "run  --this"));
}

TEST(MarkdownTest, ALinkThatLeadsNowhereIsFound) {
  EXPECT_TRUE(Resolves(Root() / "README.md", "docs/report.md#scores"));
  EXPECT_FALSE(Resolves(Root() / "README.md", "docs/report.md#skores"));
  EXPECT_FALSE(Resolves(Root() / "README.md", "docs/rapport"));
  EXPECT_FALSE(IsThere("docs/rapport"));
  EXPECT_TRUE(IsThere("tests/docs/documents_test"));
}

std::string HelpOfTool(const std::vector<std::string>& command) {
  if (command.size() == 1)
    return "Usage: tool\n\nOptions:\n  -h,--help    Print --nothing\n\nSubcommands:\n  run    Runs it\n  check  "
           "Looks\n";
  return "Usage: tool run\n\nOptions:\n  -h,--help    x\n  -o,--output DIR    where\n  -D NAME    macro\n  --turns N   "
         " how many\n\n"
         "Examples:\n  tool run --turns 3\n";
}

TEST(CommandLinesTest, WhatAProgramDoesNotKnowIsFound) {
  Programs programs({"tool"}, HelpOfTool);
  for (const char* right :
       {"tool run kernel.cu --turns 3 -o out", "$ A=b bin/tool run -DX=1 --turns=3 | jq --raw", "tool",
        "if tool check; then", "the tool that has --nothing", "tool … --definitions DIR", "tool --help",
        "tool run x.cu > out --nothing", "tool run   # with --nothing", "tool run --output \"a --b\""}) {
    EXPECT_THAT(programs.Problems(right), IsEmpty()) << right;
  }
  EXPECT_THAT(programs.Problems("tool runn --turns 3"), ElementsAre("tool has no command runn"));
  EXPECT_THAT(programs.Problems("tool run --turn 3"), ElementsAre("tool run has no --turn"));
  EXPECT_THAT(programs.Problems("x=1; tool --verbose"), ElementsAre("tool has no --verbose"));
  EXPECT_THAT(programs.Problems("tool run --turns 3; tool run --nothing"), ElementsAre("tool run has no --nothing"));
  EXPECT_THAT(programs.HelpFor({"tool", "run"}).examples, ElementsAre("tool run --turns 3"));
}

}  // namespace
}  // namespace sassay::testing
