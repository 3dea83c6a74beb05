#include "profiler_service/builder/compiler_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/files.h"

namespace sassay::builder {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kGoodDoctor[] = R"({"works": true, "checks": [
  {"name": "toolkit", "state": "OK", "found": "CUDA 13.0.88 in /opt/cuda"}, {"name": "nvcc", "state": "OK"},
  {"name": "service", "state": "MISSING", "found": "nobody listens"}]})";

TEST(ReadDoctor, TellsTheToolkitOrWhatIsMissing) {
  EXPECT_EQ(*ReadDoctor(kGoodDoctor), "13.0.88");
  const auto lacking = ReadDoctor(R"({"checks": [{"name": "sandbox", "state": "MISSING", "found": "no bubblewrap",
                                                  "remedy": "apt-get install bubblewrap"}]})");
  EXPECT_EQ(lacking.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(lacking.status().message()), HasSubstr("apt-get install bubblewrap"));
  for (const char* broken : {"", "[]", "{}", R"({"checks": 1})"}) EXPECT_FALSE(ReadDoctor(broken).ok()) << broken;
}

// A program in a shell's words stands for the agent.
class CompilerProgramTest : public testing::Test {
 protected:
  CompilerProgramTest() {
    fs::create_directory(directory_.path() / "scratch");
    options_.program = directory_.path() / "agent";
    options_.scratch = directory_.path() / "scratch";
    options_.cache = directory_.path() / "cache";
    answer_.mutable_result()->mutable_verdict()->set_reason("as told");
    EXPECT_TRUE(WriteFileAtomically(directory_.path() / "answer", answer_.SerializeAsString()).ok());
    EXPECT_TRUE(WriteFileAtomically(directory_.path() / "doctor", kGoodDoctor).ok());
    job_.add_sources()->set_path("; touch x");
  }

  // What it does with a job.
  absl::StatusOr<sassay::v1::BuildJobOutcome> Build(const std::string& script, const StopAsked& stop = {}) {
    EXPECT_TRUE(WriteFileAtomically(
                    options_.program,
                    absl::StrCat("#!/bin/sh\nif [ \"$1\" = doctor ]; then exec cat ", directory_.path().string(),
                                 "/doctor; fi\nhere=", directory_.path().string(), "\n", script, "\n"),
                    0755)
                    .ok());
    auto program = CompilerProgram::Open(options_);
    if (!program.ok()) return program.status();
    return program->Build(job_, "ann", stop);
  }

  const TemporaryDirectory directory_ = *TemporaryDirectory::Create("compiler_program");
  ProgramOptions options_;
  sassay::v1::BuildJob job_;
  sassay::v1::BuildJobOutcome answer_;
};

TEST_F(CompilerProgramTest, HandsAJobOverAndReadsTheOutcomeAndLeavesNothing) {
  const auto outcome = Build("cp \"$2\" $here/seen; cp $here/answer \"$3\"");
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->result().verdict().reason(), "as told");
  EXPECT_EQ(*ReadFile(directory_.path() / "seen"), job_.SerializeAsString());
  EXPECT_TRUE(fs::is_empty(options_.scratch));
}

TEST_F(CompilerProgramTest, TheEnvironmentIsCleanAndHomeIsTheJobsFolder) {
  setenv("SASSAY_TOKEN", "secret", 1);
  setenv("LD_PRELOAD_OF_A_TEST", "x", 1);
  ASSERT_TRUE(Build("env >$here/env; pwd >>$here/env; cp $here/answer \"$3\"").ok());
  const std::string environment = *ReadFile(directory_.path() / "env");
  EXPECT_THAT(environment, testing::Not(HasSubstr("secret")));
  EXPECT_THAT(environment, testing::Not(HasSubstr("LD_PRELOAD")));
  EXPECT_THAT(environment, HasSubstr(absl::StrCat("HOME=", options_.scratch.string(), "/build")));
  EXPECT_THAT(environment, HasSubstr(absl::StrCat("SASSAY_CACHE_DIR=", options_.cache.string(), "/")));
  EXPECT_THAT(environment, HasSubstr(absl::StrCat("\n", options_.scratch.string(), "/build")));
}

TEST_F(CompilerProgramTest, AProgramThatDiesOrAnswersNothingIsNoVerdict) {
  for (const char* script : {"exit 0", "echo 'out of memory' >&2; exit 3", "kill -SEGV $$", "echo >\"$3\"",
                             "ln -s /etc/passwd \"$3\"", "mkfifo \"$3\""}) {
    const auto outcome = Build(script);
    EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInternal) << script;
  }
  EXPECT_THAT(std::string(Build("echo 'out of memory' >&2; exit 3").status().message()), HasSubstr("out of memory"));
}

TEST_F(CompilerProgramTest, ADeadlineAndAStopKillTheWholeGroup) {
  options_.deadline = absl::Milliseconds(300);
  const std::string hangs = "sleep 1000 & echo $! >$here/child; wait";
  EXPECT_EQ(Build(hangs).status().code(), absl::StatusCode::kDeadlineExceeded);
  options_.deadline = absl::Minutes(5);
  const fs::path child = directory_.path() / "child";
  fs::remove(child);
  const auto stopped = Build(hangs, [&] { return fs::exists(child) && fs::file_size(child) > 0; });
  EXPECT_EQ(stopped.status().code(), absl::StatusCode::kCancelled);
  // Killed, and reaped by whoever inherited it.
  const pid_t pid = std::stoi(*ReadFile(child));
  while (kill(pid, 0) == 0 &&
         ReadFile(absl::StrCat("/proc/", pid, "/stat")).value_or(") Z").find(") Z") == std::string::npos) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_TRUE(fs::is_empty(options_.scratch));
}

TEST_F(CompilerProgramTest, AMachineThatCannotBuildSaysSoAtOnce) {
  EXPECT_TRUE(
      WriteFileAtomically(directory_.path() / "doctor",
                          R"({"checks": [{"name": "toolkit", "state": "MISSING", "found": "no CUDA toolkit"}]})")
          .ok());
  EXPECT_EQ(Build("exit 0").status().code(), absl::StatusCode::kFailedPrecondition);
  options_.program = "/nowhere/mini-ptx-agent";
  EXPECT_EQ(CompilerProgram::Open(options_).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sassay::builder
