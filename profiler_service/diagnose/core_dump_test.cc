#include "profiler_service/diagnose/core_dump.h"

#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/diagnose/testing.h"
#include "profiler_service/runner/fake_runner.h"

namespace sassay::diagnose {
namespace {

using testing::HasSubstr;

TEST(StandingWarpsTest, AHangIsAFewGroupsOfWarpsWithTheirLines) {
  const StandingThreads threads = ParseStandingThreads(Recorded("gdb_threads_hang.txt"));
  const auto places = ParsePlaces(Recorded("gdb_places_hang.txt"), {0x7f2e777a0290, 0x7f2e777a0330, 0x7f2e777a0220});
  const std::vector<v1::WarpState> warps = StandingWarps(threads, places, RecordedSource());
  ASSERT_EQ(warps.size(), 3u);
  EXPECT_EQ(warps[0].state(), "waiting at a barrier");
  EXPECT_EQ(warps[0].count(), 8u);
  EXPECT_EQ(warps[0].warp(), 1u);
  EXPECT_EQ(warps[0].where().source_line(), "bad.cu:84") << "the barrier's line, not that of the next instruction";
  EXPECT_EQ(warps[0].where().source_text(), "line 84");
  EXPECT_EQ(warps[0].sass(), "BAR.SYNC.DEFER_BLOCKING 0x0");
  EXPECT_EQ(warps[0].pc(), 640u);
  for (const v1::WarpState& warp : {warps[1], warps[2]}) {
    EXPECT_EQ(warp.count(), 4u);
    EXPECT_EQ(warp.where().kernel(), "hang");
  }
  const v1::WarpState& waiting = warps[1].state() == "running" ? warps[2] : warps[1];
  EXPECT_EQ(waiting.state(), "waiting at an mbarrier");
  EXPECT_EQ(waiting.function(), "_Z8wait_forjj");
}

TEST(StandingWarpsTest, TheWarpThatFaultedComesFirst) {
  const StandingThreads threads = ParseStandingThreads(Recorded("gdb_threads_trap.txt"));
  const std::vector<v1::WarpState> warps = StandingWarps(threads, {}, RecordedSource());
  ASSERT_EQ(warps.size(), 2u);
  EXPECT_EQ(warps[0].state(), "Trace/breakpoint trap");
  EXPECT_EQ(warps[0].where().thread().x(), 7u);
  EXPECT_EQ(warps[0].where().source_line(), "bad.cu:94");
  EXPECT_EQ(warps[0].count(), 1u);
  EXPECT_EQ(warps[1].count(), 7u);
}

class DebugFaultTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::permissions(directory_->path(), std::filesystem::perms(0755)); }

  // A runner in whose place a shell stands between: it does what a driver does, which is to make the pipe, and to write
  // the dump when the process has faulted or was asked to.
  wire::RunnerPoolOptions Driver(bool writes_dump = true) {
    wire::RunnerPoolOptions options = runner::FakeRunnerOptions();
    const std::string dump = writes_dump ? "echo core >\"$CUDA_COREDUMP_FILE\"" : ":";
    const std::filesystem::path bin = directory_->path() / "driver/bin";
    std::filesystem::create_directories(bin);
    std::filesystem::copy_file(options.runner_program, bin / "fake_runner",
                               std::filesystem::copy_options::overwrite_existing);
    options.runner_program = Script(
        bin, "profiler-runner",
        absl::StrCat("mkfifo \"$CUDA_COREDUMP_PIPE\"\n", "(read request <\"$CUDA_COREDUMP_PIPE\"; ", dump,
                     "; kill -9 $$) &\n", "\"$(dirname \"$0\")/fake_runner\" \"$@\"\n", dump, "\nkill $!\nexit 134\n"));
    return options;
  }

  std::string Gdb(const std::string& threads) {
    const std::filesystem::path bin = directory_->path() / "toolkit/bin";
    std::filesystem::create_directories(bin);
    for (const std::string& name : {threads, std::string("gdb_places_hang.txt")}) {
      std::filesystem::copy_file(RecordingPath(name), bin / name, std::filesystem::copy_options::overwrite_existing);
    }
    return Script(bin, "cuda-gdb",
                  absl::StrCat("cd \"$(dirname \"$0\")\"\n"
                               "case \"$*\" in\n"
                               "*--version*) echo 'NVIDIA (R) cuda-gdb 13.0';;\n"
                               "*info\\ cuda\\ threads*) cat ",
                               threads, ";;\n*) cat gdb_places_hang.txt;;\nesac\n"));
  }

  // A program in the place of compute-sanitizer, which writes a dump after the run if it is to.
  std::string Memcheck(bool writes_dump) {
    return Script(
        directory_->path() / "sanitizer/bin", "compute-sanitizer",
        absl::StrCat("while [ \"$1\" != --print-limit ]; do [ \"$1\" = --coredump-name ] && core=$2; shift; done\n"
                     "shift 2\n\"$@\"\n",
                     writes_dump ? "echo core of memcheck >\"$core\"\n" : ""));
  }

  absl::StatusOr<Diagnosed> Run(const std::string& kernel, const std::string& gdb,
                                const wire::RunnerPoolOptions& options, const std::string& memcheck = "") {
    bundle_ = runner::BundleLaunching(kernel);
    *bundle_.mutable_sources() = RecordedSource().sources();
    wire::RunnerPool pool(options);
    wire::CandidateRun run;
    run.device = "cuda:0";
    run.bundle = &bundle_;
    run.kill_switch = &kill_switch_;
    return DebugFault(run, pool, {gdb, memcheck});
  }

  absl::StatusOr<TemporaryDirectory> directory_ = TemporaryDirectory::Create("core_dump_test");
  v1::Bundle bundle_;
  wire::KillSwitch kill_switch_;
};

TEST_F(DebugFaultTest, AFaultLeavesADumpThatIsRead) {
  const auto diagnosed = Run("crashes", Gdb("gdb_threads_misaligned.txt"), Driver());
  ASSERT_TRUE(diagnosed.ok()) << diagnosed.status();
  ASSERT_EQ(diagnosed->report.outcome(), v1::DiagnosisReport::DONE) << diagnosed->report.reason();
  EXPECT_EQ(diagnosed->report.reason(), "Warp Misaligned Address");
  EXPECT_EQ(diagnosed->report.version(), "13.0");
  ASSERT_FALSE(diagnosed->warps.empty());
  EXPECT_EQ(diagnosed->warps[0].where().source_line(), "bad.cu:91");
  EXPECT_EQ(diagnosed->files.at(0).bytes, "core\n");
}

TEST_F(DebugFaultTest, AHangIsDumpedOnRequest) {
  const auto diagnosed = Run("times_out", Gdb("gdb_threads_hang.txt"), Driver());
  ASSERT_TRUE(diagnosed.ok()) << diagnosed.status();
  ASSERT_EQ(diagnosed->report.outcome(), v1::DiagnosisReport::DONE) << diagnosed->report.reason();
  EXPECT_EQ(diagnosed->warps.at(0).state(), "waiting at a barrier");
}

TEST_F(DebugFaultTest, ACandidateThatEndsWellHasNothingToDebug) {
  const auto diagnosed = Run("good", Gdb("gdb_threads_hang.txt"), Driver());
  ASSERT_TRUE(diagnosed.ok()) << diagnosed.status();
  EXPECT_EQ(diagnosed->report.outcome(), v1::DiagnosisReport::UNAVAILABLE);
  EXPECT_THAT(diagnosed->report.reason(), HasSubstr("ran to its end"));
}

TEST_F(DebugFaultTest, WithoutADumpItIsUnavailable) {
  const auto diagnosed = Run("crashes", Gdb("gdb_threads_hang.txt"), Driver(/*writes_dump=*/false));
  ASSERT_TRUE(diagnosed.ok()) << diagnosed.status();
  EXPECT_EQ(diagnosed->report.outcome(), v1::DiagnosisReport::UNAVAILABLE);
  EXPECT_THAT(diagnosed->report.reason(), HasSubstr("no core dump"));
}

TEST_F(DebugFaultTest, WhereTheDriverWritesNoDumpMemchecksIsRead) {
  const auto diagnosed =
      Run("crashes", Gdb("gdb_threads_misaligned.txt"), Driver(/*writes_dump=*/false), Memcheck(/*writes_dump=*/true));
  ASSERT_TRUE(diagnosed.ok()) << diagnosed.status();
  ASSERT_EQ(diagnosed->report.outcome(), v1::DiagnosisReport::DONE) << diagnosed->report.reason();
  EXPECT_EQ(diagnosed->files.at(0).bytes, "core of memcheck\n");
  EXPECT_THAT(diagnosed->report.reason(), HasSubstr("memcheck stopped"));
  ASSERT_FALSE(diagnosed->warps.empty());
  for (const v1::WarpState& warp : diagnosed->warps) EXPECT_EQ(warp.state(), "stopped by memcheck");
  EXPECT_THAT(diagnosed->report.summary(0), HasSubstr("stopped by memcheck: "));
}

TEST_F(DebugFaultTest, WithoutAnyDumpBothReasonsAreTold) {
  const auto diagnosed =
      Run("crashes", Gdb("gdb_threads_misaligned.txt"), Driver(/*writes_dump=*/false), Memcheck(/*writes_dump=*/false));
  ASSERT_TRUE(diagnosed.ok()) << diagnosed.status();
  EXPECT_EQ(diagnosed->report.outcome(), v1::DiagnosisReport::UNAVAILABLE);
  EXPECT_THAT(diagnosed->report.reason(), HasSubstr("the driver wrote no core dump"));
  EXPECT_THAT(diagnosed->report.reason(), HasSubstr("under memcheck: no core dump"));
}

TEST_F(DebugFaultTest, WithoutTheDebuggerItSaysHowToGetIt) {
  const auto diagnosed = Run("crashes", "", Driver());
  EXPECT_THAT(diagnosed->report.reason(), HasSubstr("apt-get install cuda-gdb-13-0"));
}

}  // namespace
}  // namespace sassay::diagnose
