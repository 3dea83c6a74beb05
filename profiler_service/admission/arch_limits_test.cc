#include "profiler_service/admission/arch_limits.h"

#include <gtest/gtest.h>

namespace sassay::admission {
namespace {

CubinKernel Kernel(uint32_t registers, uint32_t static_shared_bytes = 0) {
  CubinKernel kernel;
  kernel.registers = registers;
  kernel.static_shared_bytes = static_shared_bytes;
  return kernel;
}

const ArchLimits& Hopper() { return *FindArchLimits(90); }

// Expected values are those of NVIDIA's occupancy calculator for compute capability 9.0.
TEST(BlocksPerMultiprocessor, FollowsTheOccupancyCalculator) {
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(32), 256, 0), 8u);   // threads
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(32), 32, 0), 32u);   // blocks
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(64), 256, 0), 4u);   // registers
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(168), 384, 0), 1u);  // a Hopper GEMM with three warpgroups
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(255), 256, 0), 1u);
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(32), 128, 48 << 10), 4u);  // shared memory
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(32), 128, 232448), 1u);    // all of it
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(32, 1024), 128, 232448), 0u);
}

TEST(BlocksPerMultiprocessor, SeesABlockWhoseRegistersDoNotFit) {
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(255), 512, 0), 0u);
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(64), 1024, 0), 1u);
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(65), 1024, 0), 0u);
}

TEST(BlocksPerMultiprocessor, SurvivesAbsurdNumbers) {
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(UINT32_MAX, UINT32_MAX), 1024, UINT32_MAX), 0u);
  EXPECT_EQ(BlocksPerMultiprocessor(Hopper(), Kernel(0), 1, 0), 32u);
}

TEST(ArchLimits, KnowsHopperAndBlackwellAndNotTomorrow) {
  ASSERT_NE(FindArchLimits(90), nullptr);
  EXPECT_EQ(FindArchLimits(90)->max_shared_bytes_per_block, 232448u);
  EXPECT_TRUE(FindArchLimits(100)->clusters);
  EXPECT_FALSE(FindArchLimits(80)->clusters);
  EXPECT_EQ(FindArchLimits(200), nullptr);
}

}  // namespace
}  // namespace sassay::admission
