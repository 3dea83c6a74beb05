#include "profiler_service/diagnose/ncu.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/diagnose/testing.h"
#include "profiler_service/runner/fake_runner.h"

namespace sassay::diagnose {
namespace {

using testing::Contains;
using testing::HasSubstr;

class NcuTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::permissions(directory_->path(), std::filesystem::perms(0755)); }

  // A program that behaves like ncu where we use it: profiles the runner into a report, or prints a report's page.
  std::string Tool(const std::string& profile = "\"$@\"; echo report >\"$out.ncu-rep\"",
                   const std::string& page = "cat page.csv") {
    const std::filesystem::path bin = directory_->path() / "nsight/bin";
    std::filesystem::create_directories(bin);
    std::filesystem::copy_file(RecordingPath("ncu_details.csv"), bin / "page.csv",
                               std::filesystem::copy_options::overwrite_existing);
    return Script(bin, "ncu",
                  absl::StrCat("[ \"$1\" = --version ] && { echo 'Version 2025.3.1.0 (build 1)'; exit 0; }\n"
                               "[ \"$1\" = --import ] && { cd \"$(dirname \"$0\")\"; ",
                               page,
                               "; exit $?; }\n"
                               "while [ \"$1\" != WarpStateStats ]; do [ \"$1\" = --export ] && out=$2; shift; done\n"
                               "shift\n",
                               profile, "\n"));
  }

  absl::StatusOr<Diagnosed> Run(const std::string& tool, const std::string& kernel = "good") {
    bundle_ = runner::BundleLaunching(kernel);
    wire::CandidateRun run;
    run.device = "cuda:0";
    run.bundle = &bundle_;
    run.deadline = absl::Seconds(20);
    run.kill_switch = &kill_switch_;
    return ProfileWithNcu(run, pool_, tool);
  }

  std::string Reason(const std::string& tool, const std::string& kernel = "good") {
    const auto diagnosed = Run(tool, kernel);
    EXPECT_TRUE(diagnosed.ok()) << diagnosed.status();
    EXPECT_EQ(diagnosed->report.outcome(), v1::DiagnosisReport::UNAVAILABLE);
    EXPECT_TRUE(diagnosed->files.empty());
    return diagnosed->report.reason();
  }

  absl::StatusOr<TemporaryDirectory> directory_ = TemporaryDirectory::Create("ncu_test");
  v1::Bundle bundle_;
  wire::KillSwitch kill_switch_;
  wire::RunnerPool pool_{runner::FakeRunnerOptions()};
};

TEST_F(NcuTest, ReportAndNumbersComeHome) {
  const auto diagnosed = Run(Tool());
  ASSERT_TRUE(diagnosed.ok()) << diagnosed.status();
  ASSERT_EQ(diagnosed->report.outcome(), v1::DiagnosisReport::DONE) << diagnosed->report.reason();
  EXPECT_EQ(diagnosed->report.version(), "2025.3.1.0");
  EXPECT_GT(diagnosed->report.metrics_size(), 30);
  ASSERT_EQ(diagnosed->files.size(), 1u);
  EXPECT_EQ(diagnosed->files[0].suffix, ".ncu-rep");
  EXPECT_EQ(diagnosed->files[0].bytes, "report\n");
}

TEST_F(NcuTest, WithoutTheToolItSaysHowToGetIt) {
  EXPECT_THAT(Reason(""), HasSubstr("apt-get install nsight-compute"));
}

TEST_F(NcuTest, KernelsWhoseNamesFillACommandLineAreUnavailable) {
  EXPECT_THAT(Reason(Tool(), std::string(120'000, 'k')), HasSubstr("shorter names"));
}

TEST_F(NcuTest, AToolThatWroteNothingIsUnavailableWithItsComplaint) {
  EXPECT_THAT(Reason(Tool("\"$@\"; echo '==ERROR== ERR_NVGPUCTRPERM - no permission'; exit 1")),
              HasSubstr("ERR_NVGPUCTRPERM"));
}

TEST_F(NcuTest, APageThatIsNoneIsUnavailable) {
  EXPECT_THAT(Reason(Tool("\"$@\"; echo report >\"$out.ncu-rep\"", "echo nonsense")), HasSubstr("header"));
}

TEST_F(NcuTest, ACandidateThatFailsUnderTheToolIsUnavailable) {
  EXPECT_THAT(Reason(Tool(), "fails"), HasSubstr("launch failed"));
}

TEST_F(NcuTest, ALostRunnerIsUnavailable) { EXPECT_THAT(Reason(Tool(), "crashes"), HasSubstr("under ncu")); }

TEST(NcuCommandTest, OnlyTheLaunchesOfTheCallAreProfiled) {
  v1::LaunchPlan plan;
  for (const char* kernel : {"init", "_Z4gemm$a"}) plan.add_setup()->mutable_launch()->set_kernel(kernel);
  for (int i = 0; i < 40; ++i) plan.add_steady()->mutable_launch()->set_kernel("_Z4gemm$a");
  const std::vector<std::string> command = NcuCommand("/opt/ncu", plan, "/tmp/report");
  EXPECT_THAT(command, Contains("regex:^(_Z4gemm\\$a|init)$"));
  const auto value = [&](const std::string& option) {
    return *(std::find(command.begin(), command.end(), option) + 1);
  };
  EXPECT_EQ(value("--launch-skip"), "2");
  EXPECT_EQ(value("--launch-count"), absl::StrCat(kMaxProfiledLaunches));
  EXPECT_EQ(value("--clock-control"), "none");
}

}  // namespace
}  // namespace sassay::diagnose
