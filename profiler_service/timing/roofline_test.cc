#include "profiler_service/timing/roofline.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "common/workload/catalog.h"

namespace sassay::timing {
namespace {

const GpuModel kH200{"NVIDIA H200", 132};

v1::RooflineFloor Floor(const std::string& workload) {
  return FloorOf(*WorkloadCatalog::BuiltIn().Resolve(workload), kH200).value();
}

TEST(Roofline, LargeGemmIsBoundByTensorCoresAtTheHighestClock) {
  const v1::RooflineFloor floor = Floor("gemm_n7168_k5120/M=8192");
  // 6.013e11 / (132 * 4096 * 1.98e9) = 561.7 µs; cuBLAS needs about 750 µs.
  EXPECT_NEAR(floor.floor_ns(), 561.7e3, 0.5e3);
  EXPECT_EQ(floor.floor_ns(), floor.compute_ns());
  EXPECT_EQ(FasterThanPhysics(750e3, floor), "");
  const std::string line = FasterThanPhysics(500e3, floor);
  EXPECT_TRUE(absl::StrContains(line, "500.00 µs")) << line;
  EXPECT_TRUE(absl::StrContains(line, "561.")) << line;
}

TEST(Roofline, ThinGemmIsBoundByMemoryButWhatTheL2HoldsIsFree) {
  const v1::RooflineFloor floor = Floor("gemm_n7168_k5120/M=70");
  EXPECT_GT(floor.memory_ns(), 0);
  EXPECT_EQ(floor.floor_ns(), std::max(floor.memory_ns(), floor.compute_ns()));
  EXPECT_NEAR(floor.memory_ns(), (floor.bytes() - 62914560.0) / 4.917e12 * 1e9, 1);
}

TEST(Roofline, SmallWorkloadHasNextToNoFloor) { EXPECT_LT(Floor("gemm_n256_k256/M=256").floor_ns(), 100); }

TEST(Roofline, PublishedLatenciesAreNoCheating) {
  // PTXBench's library baselines on an H100.
  EXPECT_EQ(FasterThanPhysics(2.70e6, Floor("mha_with_lse_d128/B=4,H=48,S=4096")), "");
  EXPECT_EQ(FasterThanPhysics(1.37e6, Floor("mha_with_lse_d128_causal/B=4,H=48,S=4096")), "");
  EXPECT_EQ(FasterThanPhysics(7.75e6, Floor("mha_bwd_d128/B=4,H=48,S=4096")), "");
  EXPECT_EQ(FasterThanPhysics(4.54e6, Floor("mha_bwd_d128_causal/B=4,H=48,S=4096")), "");
}

TEST(Roofline, GpuThatNobodyDescribedHasNoFloor) {
  const auto workload = WorkloadCatalog::BuiltIn().Resolve("gemm_n256_k256/M=256");
  EXPECT_FALSE(FloorOf(*workload, {"NVIDIA H900", 132}).has_value());
}

}  // namespace
}  // namespace sassay::timing
