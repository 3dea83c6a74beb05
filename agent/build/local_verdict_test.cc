#include "agent/build/local_verdict.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

class LocalVerdictTest : public ::testing::Test {
 protected:
  LocalVerdictTest() {
    workload_.set_name("gemm/M=1");
    workload_.set_definition_sha256("\x01\xff");
  }
  v1::Workload workload_;
  v1::Verdict verdict_;
  LocalTimes times_ = {absl::Seconds(2), absl::Milliseconds(40)};
};

TEST_F(LocalVerdictTest, CompileErrorHasEverythingAServiceVerdictHas) {
  verdict_.set_status(v1::VERDICT_STATUS_COMPILE_ERROR);
  verdict_.set_reason("syntax");
  CompleteLocalVerdict(workload_, times_, absl::FromUnixNanos(1'500'000'000'000'000'007), verdict_);
  EXPECT_EQ(verdict_.stage(), v1::STAGE_COMPILE);
  EXPECT_EQ(verdict_.workload(), "gemm/M=1");
  EXPECT_EQ(verdict_.definition_sha256(), "01ff");
  EXPECT_EQ(verdict_.stages(0).outcome(), v1::StageReport::FAILED);
  EXPECT_EQ(verdict_.stages(0).wall_ns(), 2'000'000'000u);
  EXPECT_EQ(verdict_.stages(1).outcome(), v1::StageReport::SKIPPED);
  EXPECT_EQ(verdict_.versions().sassay(), SASSAY_VERSION);
  EXPECT_EQ(verdict_.decided_at().seconds(), 1'500'000'000);
  EXPECT_EQ(verdict_.decided_at().nanos(), 7);
  EXPECT_EQ(verdict_.attempt(), 1u);
}

TEST_F(LocalVerdictTest, CaptureErrorShowsThatCompilationPassed) {
  verdict_.set_status(v1::VERDICT_STATUS_CAPTURE_ERROR);
  CompleteLocalVerdict(workload_, times_, absl::Now(), verdict_);
  EXPECT_EQ(verdict_.stage(), v1::STAGE_CAPTURE);
  EXPECT_EQ(verdict_.stages(0).outcome(), v1::StageReport::PASSED);
  EXPECT_EQ(verdict_.stages(1).outcome(), v1::StageReport::FAILED);
}

TEST_F(LocalVerdictTest, WhatIsThereStays) {
  verdict_.set_workload("other");
  verdict_.mutable_versions()->set_sassay("9");
  verdict_.add_stages()->set_stage(v1::STAGE_CAPTURE);
  CompleteLocalVerdict(workload_, times_, absl::Now(), verdict_);
  EXPECT_EQ(verdict_.workload(), "other");
  EXPECT_EQ(verdict_.versions().sassay(), "9");
  EXPECT_EQ(verdict_.stages_size(), 1);
}

}  // namespace
}  // namespace sassay::agent
