// The README's example of a rollout, run as it is printed: what it shows must be what a newcomer sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

constexpr char kPrompt[] = "    $ mini-ptx-agent ";

// A command of the README with the lines that it is said to print.
struct Example {
  std::vector<std::string> arguments;
  std::vector<std::string> lines;
};

// Those whose command holds `word`, in order. A line is taken up to its "…".
std::vector<Example> ExamplesWith(const std::string& word) {
  std::vector<Example> examples;
  std::istringstream readme(*ReadFile(SourcePath("README.md")));
  bool inside = false;
  for (std::string line; std::getline(readme, line);) {
    if (absl::StartsWith(line, kPrompt)) {
      inside = absl::StrContains(line, word);
      if (inside) examples.push_back({absl::StrSplit(line.substr(sizeof kPrompt - 1), ' '), {}});
    } else if (inside && absl::StartsWith(line, "    ")) {
      const std::string shown = line.substr(4, line.find("…") - 4);
      if (!shown.empty()) examples.back().lines.push_back(shown);
    } else {
      inside = false;
    }
  }
  return examples;
}

std::string Moved(const std::string& argument, const std::string& folder) {
  if (argument == "runs/tour") return absl::StrCat(folder, "/tour");
  if (absl::StartsWith(argument, "replay:")) return absl::StrCat("replay:", SourcePath(argument.substr(7)));
  return argument;
}

TEST(ReadmeTest, TheTourOfARolloutShowsWhatItPrints) {
  const auto service = Service::Start("", {"--device", "emulated:sm_90a"});
  ASSERT_TRUE(service.ok()) << service.status();
  const auto folder = TemporaryDirectory::Create("readme");
  ASSERT_TRUE(folder.ok()) << folder.status();
  const std::vector<Example> examples = ExamplesWith("runs/tour");
  ASSERT_EQ(examples.size(), 2u);
  for (const Example& example : examples) {
    std::vector<std::string> arguments;
    for (const std::string& argument : example.arguments) arguments.push_back(Moved(argument, folder->path()));
    arguments.insert(arguments.end(), {"--service", (*service)->address()});
    const AgentResult result = RunAgent(arguments, absl::Minutes(4));
    EXPECT_EQ(result.exit_code, 0) << result.stderr_text;
    EXPECT_GE(example.lines.size(), 4u);
    for (const std::string& line : example.lines)
      EXPECT_TRUE(
          absl::StrContains(absl::StrCat("\n", result.stdout_text, "\n", result.stderr_text), absl::StrCat("\n", line)))
          << line << "\nis not in\n"
          << result.stdout_text << result.stderr_text;
  }
}

}  // namespace
}  // namespace sassay::testing
