// docs/porting.md, run as it is printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

// The blocks behind the mark, in order.
std::vector<std::string> Blocks(const std::string& text) {
  const std::string kBegin = "<!-- porting_test -->\n```bash\n", kEnd = "```\n";
  std::vector<std::string> blocks;
  for (size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at)) {
    at += kBegin.size();
    blocks.push_back(text.substr(at, text.find(kEnd, at) - at));
  }
  return blocks;
}

TEST(PortingTest, TheGuidesCommandsGiveTheVerdictsThatItPromises) {
  if (!FindProgram("jq").ok()) GTEST_SKIP() << "no jq: apt-get install jq";
  const auto folder = TemporaryDirectory::Create("porting");
  ASSERT_TRUE(folder.ok());
  const std::string text = *ReadFile(SourcePath("docs/porting.md"));
  const std::vector<std::string> blocks = Blocks(text);
  ASSERT_EQ(blocks.size(), 4u);
  size_t printed = 0;
  for (size_t at = 0; (at = text.find("```bash\n", at)) != std::string::npos; ++at) ++printed;
  EXPECT_EQ(printed, blocks.size()) << "a block that is not run";
  std::unique_ptr<Service> service;
  for (size_t i = 0; i < blocks.size(); ++i) {
    Command command = AgentCommand({}, folder->path().string());
    command.argv = {"/bin/bash", "-euo", "pipefail", "-c", blocks[i]};
    command.working_directory = SourcePath("");
    command.environment["PATH"] = absl::StrCat(SASSAY_PROGRAMS, ":", std::getenv("PATH"));
    command.environment["PORT"] = folder->path().string();
    if (service != nullptr) command.environment["SASSAY_SERVICE"] = service->address();
    const auto report = RunToCompletion(command, absl::Minutes(3));
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->Succeeded()) << blocks[i] << "\n" << report->stdout_text << report->stderr_text;
    if (i > 0) continue;
    auto started = Service::Start("", {"--workloads", (folder->path() / "operators").string()});
    ASSERT_TRUE(started.ok()) << started.status();
    service = *std::move(started);
  }
}

}  // namespace
}  // namespace sassay::testing
