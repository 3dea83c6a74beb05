// Programs of two versions against each other (docs/decisions/0024). SASSAY_PREVIOUS names a folder with the version
// before: bin/mini-ptx-agent and what belongs to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

using ::testing::HasSubstr;

constexpr char kWorkload[] = "gemm_n256_k256/M=64";

std::vector<std::string> Submission(const Service& service) {
  return {"submit",     SourcePath("agent/examples/gemm_tiled.cu"),
          "--workload", kWorkload,
          "--stages",   "evaluate",
          "--service",  service.address()};
}

class VersionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("SASSAY_PREVIOUS");
    if (folder == nullptr) GTEST_SKIP() << "no SASSAY_PREVIOUS: a folder with bin/ of the version before";
    agent_ = absl::StrCat(folder, "/bin/mini-ptx-agent");
  }

  ExitReport RunPrevious(const std::vector<std::string>& arguments) {
    Command command = AgentCommand(arguments, home_.path().string());
    command.argv.front() = agent_;
    const auto report = RunToCompletion(command, absl::Minutes(2));
    EXPECT_TRUE(report.ok()) << report.status();
    return report.value_or(ExitReport());
  }

  TemporaryDirectory home_ = *TemporaryDirectory::Create("versions");
  std::string agent_;
};

TEST_F(VersionsTest, TheAgentOfTheVersionBeforeIsServed) {
  const auto service = Service::Start();
  ASSERT_TRUE(service.ok()) << service.status();
  const ExitReport report = RunPrevious(Submission(**service));
  EXPECT_TRUE(report.Succeeded()) << report.stdout_text << report.stderr_text;
  EXPECT_THAT(report.stdout_text, HasSubstr("CORRECT"));
}

TEST_F(VersionsTest, AnAgentThatIsTooOldIsToldBothVersionsAndWhatToDo) {
  const auto service = Service::Start("", {"--oldest-client", "2"});
  ASSERT_TRUE(service.ok()) << service.status();
  const ExitReport report = RunPrevious(Submission(**service));
  EXPECT_EQ(report.exit_code, 2) << report.stdout_text << report.stderr_text;
  for (const char* said : {"protocol 1) is too old", "protocol 2) serves protocol 2 and newer", "Install Sassay"})
    EXPECT_THAT(report.stderr_text, HasSubstr(said));
}

TEST(VersionTest, TheServiceAndTheAgentShowWhatTheySpeak) {
  const auto service = Service::Start("", {"--oldest-client", "2"});
  ASSERT_TRUE(service.ok()) << service.status();
  const AgentResult submitted = RunAgent(Submission(**service));
  EXPECT_EQ(submitted.exit_code, 0) << submitted.stderr_text;
  const AgentResult doctor = RunAgent({"doctor", "--service", (*service)->address()});
  EXPECT_THAT(doctor.stdout_text,
              HasSubstr("Sassay " SASSAY_VERSION ", protocol 2 (this agent: Sassay " SASSAY_VERSION ", protocol 2)"));
}

}  // namespace
}  // namespace sassay::testing
