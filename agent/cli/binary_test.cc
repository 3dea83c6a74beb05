// The installed program, from source to bundle and to the verdicts that are reached without a service.
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/process/subprocess.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kWorkload[] = "gemm_n256_k256/M=64";

class BinaryTest : public ::testing::Test {
 protected:
  BinaryTest() : folder_(*TemporaryDirectory::Create("binary")) {}

  // A bwrap that does something else at its `start`-th start only.
  void AtSandboxStart(int start, const std::string& action) {
    const std::string starts = (folder_.path() / "starts").string();
    fs::create_directories(folder_.path() / "bin");
    fs::remove(starts);
    Write("bin/bwrap", absl::StrCat("#!/bin/sh\necho x >> ", starts, "\nif [ $(wc -l < ", starts, ") = ", start,
                                    " ]; then\n", action, "\nfi\nexec /usr/bin/bwrap \"$@\"\n"));
    fs::permissions(folder_.path() / "bin/bwrap", fs::perms::owner_all);
  }
  // As on a machine that is out of processes.
  void FailSandboxAt(int start) {
    AtSandboxStart(start, "echo 'bwrap: Creating new namespace failed: Resource temporarily unavailable' >&2; exit 1");
  }
  ExitReport Run(std::vector<std::string> arguments) {
    Command command;
    command.argv = {std::string(std::getenv("SASSAY_TEST_BIN")) + "/mini-ptx-agent"};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    fs::create_directories(folder_.path() / "tmp");
    command.environment = {{"HOME", folder_.path()},
                           {"TMPDIR", folder_.path() / "tmp"},
                           {"PATH", (folder_.path() / "bin").string() + ":/usr/local/bin:/usr/bin:/bin"}};
    command.working_directory = folder_.path();
    return *RunToCompletion(command, absl::Minutes(5));
  }
  std::string Example(const std::string& name) {
    return std::string(std::getenv("SASSAY_TEST_SOURCE")) + "/agent/examples/" + name;
  }
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_TRUE(WriteFileAtomically(folder_.path() / name, text).ok());
    return folder_.path() / name;
  }

  TemporaryDirectory folder_;
};

TEST_F(BinaryTest, CompilesOnceAndKeepsOneDigestForCopiesOfTheSource) {
  const ExitReport first =
      Run({"compile", Example("gemm_naive.cu"), "--workload", kWorkload, "-o", "a.bundle", "--json"});
  ASSERT_EQ(first.exit_code, 0) << first.stderr_text;
  fs::create_directories(folder_.path() / "elsewhere");
  fs::copy(Example("gemm_naive.cu"), folder_.path() / "elsewhere/gemm_naive.cu");
  const ExitReport second = Run({"compile", "elsewhere/gemm_naive.cu", "--workload", kWorkload, "--json"});
  ASSERT_EQ(second.exit_code, 0) << second.stderr_text;
  const Json a = Json::parse(first.stdout_text), b = Json::parse(second.stdout_text);
  EXPECT_EQ(a["bundle_sha256"], b["bundle_sha256"]);
  EXPECT_EQ(b["compile_cached"], true);
  EXPECT_TRUE(fs::exists(folder_.path() / "gemm_naive.bundle"));
  const ExitReport inspected = Run({"inspect", "a.bundle"});
  EXPECT_EQ(inspected.exit_code, 0);
  EXPECT_THAT(inspected.stdout_text, AllOf(HasSubstr("each call"), HasSubstr("launch"), HasSubstr("gemm_naive.cu:")));
}

TEST_F(BinaryTest, CompileErrorIsAVerdictWithFileLineAndSourceAndNoPathsOfTheMachine) {
  const std::string source = Write("broken.cu", "extern \"C\" void run() { int x = undeclared; }\n");
  const ExitReport report = Run({"compile", source, "--workload", kWorkload, "--json"});
  EXPECT_EQ(report.exit_code, 1);
  const Json verdict = Json::parse(report.stdout_text);
  EXPECT_EQ(verdict["status"], "COMPILE_ERROR");
  EXPECT_EQ(verdict["stage"], "COMPILE");
  EXPECT_EQ(verdict["workload"], kWorkload);
  EXPECT_EQ(verdict["details"]["diagnostics"][0]["file"], "broken.cu");
  EXPECT_EQ(verdict["details"]["diagnostics"][0]["line"], 1);
  EXPECT_THAT(report.stdout_text, Not(HasSubstr(folder_.path().string())));
  EXPECT_FALSE(fs::exists(folder_.path() / "broken.bundle"));
}

TEST_F(BinaryTest, SandboxThatDoesNotStartIsNobodysCompileErrorAndIsNotRemembered) {
  for (const int start : {2, 3, 4, 5}) {  // nvcc's plan, front end, ptxas, host compiler
    const std::vector<std::string> compile = {"compile", Example("gemm_naive.cu"),     "--workload", kWorkload,
                                              "-D",      absl::StrCat("START=", start)};
    FailSandboxAt(start);
    const ExitReport failed = Run(compile);
    EXPECT_EQ(failed.exit_code, 3) << start << failed.stdout_text;
    EXPECT_THAT(failed.stderr_text, HasSubstr("sandbox did not start")) << start;
    fs::remove_all(folder_.path() / "bin");
    EXPECT_EQ(Run(compile).exit_code, 0) << start;
  }
}

TEST_F(BinaryTest, MissingDisassemblyIsAWarningAndChangesNoDigest) {
  const std::vector<std::string> compile = {"compile", Example("gemm_naive.cu"), "--workload", kWorkload, "--json"};
  const fs::path tools = ".local/lib/python3.11/site-packages/nvidia/cu13/bin";
  fs::create_directories(folder_.path() / tools);
  Write((tools / "nvdisasm").string(), "#!/bin/sh\necho nothing\n");
  fs::permissions(folder_.path() / tools / "nvdisasm",
                  fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  FailSandboxAt(6);
  const ExitReport without = Run(compile);
  ASSERT_EQ(without.exit_code, 0) << without.stderr_text;
  fs::remove_all(folder_.path() / "bin");
  const ExitReport with = Run(compile);
  const Json a = Json::parse(without.stdout_text), b = Json::parse(with.stdout_text);
  EXPECT_THAT(a["warnings"].dump(), HasSubstr("SASS families are unknown"));
  EXPECT_FALSE(a["kernels"][0].contains("sass_families"));
  EXPECT_EQ(b.value("compile_cached", false), false);
  EXPECT_EQ(a["bundle_sha256"], b["bundle_sha256"]);
}

TEST_F(BinaryTest, BundleOnStandardOutputIsTheBundle) {
  const ExitReport piped = Run({"compile", Example("gemm_naive.cu"), "--workload", kWorkload, "-o", "-"});
  ASSERT_EQ(Run({"compile", Example("gemm_naive.cu"), "--workload", kWorkload, "-o", "a.bundle"}).exit_code, 0);
  EXPECT_EQ(piped.exit_code, 0);
  EXPECT_TRUE(piped.stdout_text == *ReadFile(folder_.path() / "a.bundle"));
}

TEST_F(BinaryTest, InterruptedCompilationLeavesNothingBehind) {
  for (const char* signal : {"TERM", "INT"}) {
    // The agent is above, with or without processes of the sandbox between.
    AtSandboxStart(
        3, absl::StrCat("p=$PPID\n"
                        "while [ $(cat /proc/$p/comm) != mini-ptx-agent ]; do p=$(cut -d' ' -f4 /proc/$p/stat); done\n"
                        "kill -",
                        signal, " $p\nexec sleep 1000"));
    const ExitReport report = Run({"compile", Example("gemm_naive.cu"), "--workload", kWorkload});
    EXPECT_EQ(report.exit_code, 3) << report.stderr_text;
    EXPECT_THAT(report.stderr_text, HasSubstr("interrupted"));
    EXPECT_TRUE(fs::is_empty(folder_.path() / "tmp"));
  }
}

TEST_F(BinaryTest, IncludeFoldersAreThoseOfTheWorkingFolder) {
  fs::create_directories(folder_.path() / "inc");
  Write("inc/factor.h", "#define FACTOR 1\n");
  const std::string source =
      Write("kernel.cu", "#include <factor.h>\nextern \"C\" void run() { int x = FACTOR + ; }\n");
  const ExitReport report = Run({"compile", source, "-I", "inc", "--workload", kWorkload});
  EXPECT_THAT(report.stdout_text, AllOf(HasSubstr("expected an expression"), Not(HasSubstr("No such file"))));
}

TEST_F(BinaryTest, CaptureErrorIsAVerdictAndSubmitNeedsNoServiceForIt) {
  const std::string source =
      Write("silent.cu", "__global__ void k() {}\nextern \"C\" void other() { k<<<1, 1>>>(); }\n");
  const ExitReport report = Run({"submit", source, "--workload", kWorkload, "--json"});
  EXPECT_EQ(report.exit_code, 1) << report.stderr_text;
  const Json verdict = Json::parse(report.stdout_text);
  EXPECT_EQ(verdict["status"], "CAPTURE_ERROR");
  EXPECT_EQ(verdict["code"], "ENTRY_MISSING");
  EXPECT_EQ(verdict["stages"][0]["outcome"], "PASSED");
  EXPECT_EQ(verdict["stages"][1]["outcome"], "FAILED");
}

TEST_F(BinaryTest, UsageErrorsComeBeforeAnyWork) {
  EXPECT_EQ(Run({"compile", "nothing.cu", "--workload", kWorkload}).exit_code, 2);
  EXPECT_THAT(Run({"compile", Example("gemm_naive.cu")}).stderr_text, HasSubstr("--workload is needed"));
  EXPECT_THAT(Run({"compile", "x.bundle", "--workload", kWorkload}).stderr_text, HasSubstr("is a bundle already"));
  const ExitReport arch = Run({"compile", Example("gemm_naive.cu"), "--workload", kWorkload, "--arch", "sm_90"});
  EXPECT_EQ(arch.exit_code, 2);
  EXPECT_THAT(arch.stderr_text, HasSubstr("Did you mean \"sm_90a\"?"));
}

}  // namespace
}  // namespace sassay::agent
