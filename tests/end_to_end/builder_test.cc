// A builder as clients meet it: the installed programs, hostile candidates, and processes that must not stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/end_to_end/process_tree.h"
#include "tests/end_to_end/service_fixture.h"

namespace sassay::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kWorkload[] = "gemm_n256_k256/M=64";
const absl::Duration kPatience = absl::Minutes(2);

std::string Example() { return SourcePath("agent/examples/gemm_tiled.cu"); }

class BuilderTest : public ::testing::Test {
 protected:
  std::unique_ptr<Service> StartBuilder(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), {"--role", "builder", "--drain", "0s"});
    auto builder = Service::Start(directory_.path() / "builder", arguments);
    EXPECT_TRUE(builder.ok()) << builder.status();
    return builder.ok() ? *std::move(builder) : nullptr;
  }
  // compile, here or at a builder.
  AgentResult Compile(const std::string& source, const std::string& builder, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"compile",
                                          source,
                                          "--workload",
                                          kWorkload,
                                          "--json",
                                          "-o",
                                          directory_.path() / (builder.empty() ? "here.bundle" : "there.bundle")};
    if (!builder.empty()) arguments.insert(arguments.end(), {"--builder", builder});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunAgent(arguments, kPatience);
  }
  std::string Bundle(const char* name) const { return ReadFile(directory_.path() / name).value_or("none"); }

  // The agent where no toolkit is: it is told of a folder without one.
  AgentResult RunBareAgent(std::vector<std::string> arguments) const {
    const fs::path home = directory_.path() / "bare";
    fs::create_directories(home);
    fs::copy_file(Program("mini-ptx-agent"), home / "mini-ptx-agent", fs::copy_options::overwrite_existing);
    Command command;
    command.argv = {home / "mini-ptx-agent"};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    command.environment = {{"HOME", home}, {"PATH", home}, {"SASSAY_CUDA_HOME", home}};
    command.working_directory = home;
    const auto report = RunToCompletion(command, kPatience);
    EXPECT_TRUE(report.ok()) << report.status();
    if (!report.ok()) return {};
    return {report->exit_code, nlohmann::json::parse(report->stdout_text, nullptr, false), report->stdout_text,
            report->stderr_text};
  }

  // Until the compiler of a build runs.
  static void WaitForCompiler(const Service& builder) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (LivingDescendants(builder.pid(), "cicc").empty() && LivingDescendants(builder.pid(), "cudafe++").empty()) {
      ASSERT_LT(absl::Now(), deadline) << "the compiler does not run; " << builder.Log();
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
  bool ScratchIsEmpty() const {
    for (const auto& entry : fs::recursive_directory_iterator(directory_.path() / "builder/scratch")) {
      if (absl::StartsWith(entry.path().filename().string(), "build")) return false;
    }
    return true;
  }

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("builder_test");
};

TEST_F(BuilderTest, AMachineWithoutAToolkitSubmitsThroughABuilder) {
  const auto builder = StartBuilder();
  ASSERT_NE(builder, nullptr);
  const auto service = Service::Start();
  ASSERT_TRUE(service.ok()) << service.status();
  const std::vector<std::string> submit = {
      "submit", Example(), "--workload", kWorkload, "--service", (*service)->address(), "--json"};
  const AgentResult alone = RunBareAgent(submit);
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.stderr_text, HasSubstr("--builder HOST:PORT"));

  std::vector<std::string> through = submit;
  through.insert(through.end(), {"--builder", builder->address()});
  const AgentResult judged = RunBareAgent(through);
  EXPECT_EQ(judged.exit_code, 0) << judged.stderr_text << builder->Log();
  ASSERT_TRUE(judged.json.is_object()) << judged.stdout_text << judged.stderr_text;
  EXPECT_EQ(judged.json.value("status", ""), "CORRECT") << judged.stdout_text;
  EXPECT_EQ(judged.json.value("provenance", ""), "VERIFIED") << judged.stdout_text;

  const AgentResult doctor = RunBareAgent({"doctor", "--builder", builder->address(), "--json"});
  EXPECT_THAT(doctor.stdout_text, HasSubstr(builder->address() + ", sassay"));
  ASSERT_TRUE(doctor.json.is_object()) << doctor.stdout_text;
  EXPECT_EQ(doctor.json.value("works", false), true) << doctor.stdout_text;
}

TEST_F(BuilderTest, ABundleIsTheSameByteForByte) {
  const auto builder = StartBuilder();
  ASSERT_NE(builder, nullptr);
  for (const char* source : {"agent/examples/gemm_tiled.cu", "agent/examples/gemm_wgmma_tma.cu"}) {
    const AgentResult here = Compile(SourcePath(source), ""), there = Compile(SourcePath(source), builder->address());
    ASSERT_EQ(here.exit_code, 0) << here.stderr_text;
    ASSERT_EQ(there.exit_code, 0) << there.stderr_text << builder->Log();
    EXPECT_EQ(Bundle("here.bundle"), Bundle("there.bundle")) << source;
    for (const char* part : {"kernels", "warnings", "workloads"}) {
      EXPECT_EQ(here.json.value(part, nlohmann::json()), there.json.value(part, nlohmann::json())) << part;
    }
  }
  EXPECT_TRUE(ScratchIsEmpty());
}

// What is wrong with a candidate is said as it would have been here, and nothing that it tries reaches the machine.
TEST_F(BuilderTest, HostileCandidatesEndAsTheyDoHere) {
  const auto builder = StartBuilder();
  ASSERT_NE(builder, nullptr);
  for (const char* name :
       {"compile/syntax_error", "compile/reads_passwd", "compile/includes_binary", "compile/template_bomb",
        "capture/runs_shell", "capture/fork_bomb", "capture/exits", "capture/kills_recorder", "capture/output_flood"}) {
    const std::string source = SourcePath(absl::StrCat("tests/hostile/", name, ".cu"));
    // Only the bomb needs one; on a busy machine others may take as long.
    const bool bomb = absl::StrContains(name, "template_bomb");
    const std::vector<std::string> deadline = {"--compile-deadline", bomb ? "20s" : "2m"};
    const AgentResult here = Compile(source, "", deadline), there = Compile(source, builder->address(), deadline);
    EXPECT_EQ(there.exit_code, here.exit_code) << name << there.stderr_text << builder->Log();
    ASSERT_TRUE(there.json.is_object()) << name << there.stdout_text << there.stderr_text;
    EXPECT_EQ(there.json.value("status", ""), here.json.value("status", "")) << name << there.stdout_text;
    EXPECT_EQ(there.json.value("code", ""), here.json.value("code", "")) << name;
    EXPECT_EQ(there.json.value("workload", ""), here.json.value("workload", "")) << name;
    EXPECT_EQ(there.json.value("definition_sha256", ""), here.json.value("definition_sha256", "")) << name;
  }
  EXPECT_TRUE(DescendantsOf(builder->pid()).empty());
  EXPECT_TRUE(ScratchIsEmpty());
}

TEST_F(BuilderTest, WhatTheUserMustChangeIsSaidInTheSameWords) {
  const auto builder = StartBuilder();
  ASSERT_NE(builder, nullptr);
  const std::vector<std::string> wrong = {"-D", "1=2"};
  const AgentResult here = Compile(Example(), "", wrong), there = Compile(Example(), builder->address(), wrong);
  EXPECT_EQ(here.exit_code, 2) << here.stderr_text;
  EXPECT_EQ(there.exit_code, 2) << there.stderr_text;
  EXPECT_EQ(there.json.value("message", "there"), here.json.value("message", "here"));
  const AgentResult folder = Compile(Example(), builder->address(), {"-I", "/usr/include"});
  EXPECT_EQ(folder.exit_code, 2);
  EXPECT_THAT(folder.stderr_text, HasSubstr("include them with quotes"));
  const AgentResult slow = Compile(Example(), builder->address(), {"--compile-deadline", "5h"});
  EXPECT_EQ(slow.exit_code, 2);
  EXPECT_THAT(slow.stderr_text, HasSubstr("--build-deadline"));
}

// Compiles for minutes.
class SlowBuildTest : public BuilderTest {
 protected:
  SlowBuildTest() { AdoptOrphans(); }
  absl::StatusOr<Subprocess> StartClient(const Service& builder) const {
    Command command = AgentCommand(
        {"compile", SourcePath("tests/hostile/compile/template_bomb.cu"), "--workload", kWorkload, "--builder",
         builder.address(), "--compile-deadline", "4m", "-o", directory_.path() / "slow.bundle"},
        directory_.path());
    command.environment["SASSAY_RECONNECT_DEADLINE"] = "1s";
    return Subprocess::Start(command);
  }
  // Nothing of a build lives.
  void ExpectQuiet(const std::set<pid_t>& ours) {
    const auto died = WaitForOrphansToDie(ours, {}, absl::Now() + absl::Seconds(20));
    EXPECT_TRUE(died.ok()) << died.status();
  }
};

TEST_F(SlowBuildTest, CtrlCEndsTheBuildWithEverythingThatItStarted) {
  const auto builder = StartBuilder();
  ASSERT_NE(builder, nullptr);
  auto client = StartClient(*builder);
  ASSERT_TRUE(client.ok()) << client.status();
  WaitForCompiler(*builder);
  kill(client->pid(), SIGINT);
  const auto report = client->Wait(absl::Now() + absl::Seconds(20));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->exit_code, 3);
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (!DescendantsOf(builder->pid()).empty() && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(5));
  EXPECT_TRUE(DescendantsOf(builder->pid()).empty());
  ExpectQuiet({builder->pid()});
  // It goes on.
  EXPECT_EQ(Compile(Example(), builder->address()).exit_code, 0);
}

TEST_F(SlowBuildTest, ABuilderThatIsKilledTakesItsBuildsAlong) {
  auto builder = StartBuilder();
  ASSERT_NE(builder, nullptr);
  auto client = StartClient(*builder);
  ASSERT_TRUE(client.ok()) << client.status();
  WaitForCompiler(*builder);
  builder->Crash();
  ExpectQuiet({client->pid()});
  const auto report = client->Wait(absl::Now() + kPatience);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->exit_code, 3);
  builder = StartBuilder();
  ASSERT_NE(builder, nullptr);
  EXPECT_TRUE(ScratchIsEmpty());
}

TEST_F(SlowBuildTest, ABuildThatTakesTooLongIsTheInfrastructuresAffair) {
  const auto builder = StartBuilder({"--build-deadline", "3s"});
  ASSERT_NE(builder, nullptr);
  const AgentResult slow =
      Compile(SourcePath("tests/hostile/compile/template_bomb.cu"), builder->address(), {"--compile-deadline", "3s"});
  // Whose time is up first decides: the compiler's own deadline is the candidate's, the build's is not.
  if (slow.exit_code == 1) {
    EXPECT_EQ(slow.json.value("code", ""), "COMPILE_TIMEOUT") << slow.stdout_text;
  } else {
    EXPECT_EQ(slow.exit_code, 3);
    EXPECT_THAT(slow.stderr_text, HasSubstr("--build-deadline"));
  }
  ExpectQuiet({builder->pid()});
}

TEST_F(SlowBuildTest, SigtermEndsABuilderSoon) {
  const auto builder = StartBuilder();
  ASSERT_NE(builder, nullptr);
  auto client = StartClient(*builder);
  ASSERT_TRUE(client.ok()) << client.status();
  WaitForCompiler(*builder);
  EXPECT_EQ(builder->Stop(), 0) << builder->Log();
  ExpectQuiet({client->pid()});
}

}  // namespace
}  // namespace sassay::testing
