#include "profiler_service/pipeline/admit_on_lanes.h"

#include "common/base/sha256.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/admission/testing/example_bundle.h"
#include "profiler_service/evaluate/testing/fake_workers.h"
#include "profiler_service/pipeline/testing/pipeline_fixture.h"

namespace sassay::pipeline {
namespace {

Job BuiltWith(const std::string& toolkit, Job job) {
  sassay::v1::Bundle bundle = admission::ExampleBundle();
  bundle.mutable_compilation()->set_toolkit_version(toolkit);
  job.bundle_bytes = bundle.SerializeAsString();
  job.request.set_bundle_sha256(Sha256Hex(job.bundle_bytes));
  return job;
}

TEST_F(PipelineTest, ADriverThatIsTooOldForTheToolkitIsNoFaultOfTheCandidate) {
  driver_cuda_ = "12.8";
  Build(evaluate::HonestGemm);
  const Verdict verdict = Run(BuiltWith("13.0.88", MakeJob()));
  EXPECT_EQ(verdict.status(), VERDICT_STATUS_INFRA_ERROR);
  EXPECT_THAT(verdict.reason(), HasSubstr("built with CUDA 13.0, which needs driver 580 or newer"));
  EXPECT_THAT(observer_.started_, ElementsAre(STAGE_ADMISSION));
  EXPECT_EQ(Run(BuiltWith("12.9.1", MakeJob())).status(), VERDICT_STATUS_CORRECT) << "minor releases are compatible";
}

TEST_F(PipelineTest, AnEmulatedDeviceHasNoDriver) {
  driver_cuda_ = "12.8";
  Build(evaluate::HonestGemm, "emulated");
  EXPECT_NE(Run(BuiltWith("13.0.88", MakeJob())).status(), VERDICT_STATUS_INFRA_ERROR);
}

}  // namespace
}  // namespace sassay::pipeline
