#include "profiler_service/judge/baseline/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/workload/catalog.h"
#include "profiler_service/judge/baseline/testing/fake_baseline.h"
#include "profiler_service/judge/testing/memory_device.h"

namespace sassay::judge {
namespace {

sassay::v1::Workload Gemm(const std::string& baseline) {
  sassay::v1::Workload workload = *WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=64");
  workload.set_baseline(baseline);
  return workload;
}

TEST(MakeBaseline, IsNotFoundWhereTheWorkloadNamesNone) {
  MemoryDevice device;
  EXPECT_EQ(MakeBaseline(Gemm(""), device).status().code(), absl::StatusCode::kNotFound);
}

TEST(MakeBaseline, LeavesBundlesToThoseWhoReplayThem) {
  MemoryDevice device;
  EXPECT_EQ(MakeBaseline(Gemm("bundle:sha256:00"), device).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(MakeBaseline, IsUnavailableWithoutAGpuAndSaysWhy) {
  MemoryDevice device;
  const absl::Status status = MakeBaseline(Gemm("cublaslt"), device).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("cublaslt needs a GPU"));
}

TEST(FakeBaseline, RemembersItsCallsAndRefusesAWrongNumberOfTensors) {
  FakeBaseline fake(2, 1, [](const FakeBaseline::Call&) { return absl::InternalError("asked to fail"); });
  EXPECT_EQ(fake.Enqueue({1}, {3}, nullptr).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fake.Enqueue({1, 2}, {3}, &fake).code(), absl::StatusCode::kInternal);
  ASSERT_EQ(fake.calls().size(), 1u);
  EXPECT_THAT(fake.calls()[0].inputs, testing::ElementsAre(1, 2));
  EXPECT_EQ(fake.calls()[0].stream, &fake);
}

}  // namespace
}  // namespace sassay::judge
