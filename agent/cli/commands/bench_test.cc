// `bench` and `batch` as commands, with a service in this process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "absl/strings/str_cat.h"
#include "agent/cli/app.h"
#include "agent/submit/fake_profiler.h"
#include "common/base/files.h"
#include "common/bundle/bundle.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kWorkload[] = "fake_gemm/M=16";

class BenchCommandTest : public ::testing::Test {
 protected:
  BenchCommandTest() : home_(*TemporaryDirectory::Create("bench_command")) {
    v1::Bundle bundle;
    bundle.add_plans()->set_workload(kWorkload);
    bundle_ = home_.path() / "kernel.bundle";
    EXPECT_TRUE(WriteFileAtomically(bundle_, *SerializeBundle(bundle)).ok());
  }
  void Measures(double speedup) {
    profiler_.script = UsualScript(v1::VERDICT_STATUS_CORRECT);
    v1::Timing& timing = *profiler_.script.back().mutable_verdict()->mutable_timing();
    timing.set_status(v1::Timing::MEASURED);
    timing.mutable_candidate()->set_median_ns(1000 / speedup);
    timing.mutable_baseline()->set_median_ns(1000);
    timing.set_speedup(speedup);
  }
  int Run(std::vector<std::string> arguments) {
    out_.str("");
    err_.str("");
    const Terminal terminal = {
        &out_, &err_, false, false, {{"HOME", home_.path()}, {"SASSAY_SERVICE", profiler_.address()}}, home_.path()};
    return RunAgent(arguments, terminal);
  }
  int Bench(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"bench", bundle_, "--workload", kWorkload};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }

  FakeProfiler profiler_;
  TemporaryDirectory home_;
  std::string bundle_;
  std::ostringstream out_, err_;
};

TEST_F(BenchCommandTest, AKernelAgainstItselfIsEqualAndNeedsNoCompiler) {
  Measures(1.5);
  EXPECT_EQ(Bench({"--against", bundle_, "--cuda-home", "/nowhere", "--junit", "out.xml", "--fail-if-slower", "2%"}), 0)
      << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("equal"));
  EXPECT_THAT(out_.str(), HasSubstr("1.0000  (1.0000 to 1.0000)"));
  EXPECT_EQ(profiler_.submissions, 14) << "seven of each, none shared";
  EXPECT_EQ(profiler_.last_request.stages_size(), 1);
  EXPECT_EQ(profiler_.last_request.stages(0), v1::STAGE_TIMING);
  EXPECT_THAT(*ReadFile(home_.path() / "out.xml"), HasSubstr("tests=\"2\" failures=\"0\" errors=\"0\" skipped=\"0\""));
}

TEST_F(BenchCommandTest, TheGuardSaysWhatIsSlower) {
  Measures(0.9);
  EXPECT_EQ(Bench({"--json", "--fail-if-slower", "5%"}), 1);
  EXPECT_EQ(Json::parse(out_.str())["shapes"][0]["outcome"], "SLOWER");
  EXPECT_EQ(Bench({"--fail-if-slower", "0.15"}), 0) << "allowed";
  EXPECT_EQ(Bench({"--fail-if-slower", "0.112"}), 0) << "it takes 11.1 % longer";
  EXPECT_EQ(Bench(), 0) << "nobody guards";
}

TEST_F(BenchCommandTest, WithoutATimeThereIsNoRatio) {
  profiler_.script = UsualScript(v1::VERDICT_STATUS_CORRECT);
  profiler_.script.back().mutable_verdict()->mutable_timing()->set_reason("emulated device");
  EXPECT_EQ(Bench(), 3);
  EXPECT_THAT(out_.str(), HasSubstr("unavailable"));
  EXPECT_THAT(out_.str(), HasSubstr("emulated device"));
  profiler_.script = UsualScript(v1::VERDICT_STATUS_INCORRECT_NUMERICAL);
  EXPECT_EQ(Bench({"--json"}), 1);
  EXPECT_EQ(Json::parse(out_.str())["shapes"][0]["verdict"]["status"], "INCORRECT_NUMERICAL");
}

TEST_F(BenchCommandTest, WhatIsWrongIsSaidBeforeTheWork) {
  EXPECT_EQ(Bench({"--rounds", "2"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--rounds must be 3 to 100"));
  EXPECT_EQ(Bench({"--fail-if-slower", "fast"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("for example 2% or 0.02, not \"fast\""));
  EXPECT_EQ(Bench({"--fail-if-slower", "60%"}), 2);
  EXPECT_EQ(Run({"bench", bundle_}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--workload is needed"));
  EXPECT_EQ(Run({"batch", "--concurrency", "0"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("--concurrency must be 1 to 1024, not 0"));
  EXPECT_EQ(profiler_.submissions, 0);
}

}  // namespace
}  // namespace sassay::agent
