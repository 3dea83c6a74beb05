#include "agent/feedback/launch_shapes.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

v1::LaunchShape Launch(uint32_t threads, uint32_t dynamic_shared_bytes) {
  v1::LaunchShape launch;
  launch.mutable_block()->set_x(threads);
  launch.mutable_block()->set_y(1);
  launch.mutable_block()->set_z(1);
  launch.set_dynamic_shared_bytes(dynamic_shared_bytes);
  return launch;
}

OccupancyEstimate Estimate(uint32_t registers, uint32_t threads, uint32_t dynamic_shared_bytes) {
  v1::KernelFacts facts;
  facts.set_registers(registers);
  return EstimateOccupancy(facts, Launch(threads, dynamic_shared_bytes));
}

// Expected values are cudaOccupancyMaxActiveBlocksPerMultiprocessor's for compute capability 9.0.
TEST(OccupancyTest, RegistersBound) {
  const OccupancyEstimate estimate = Estimate(168, 384, 0);
  EXPECT_EQ(estimate.blocks, 1);
  EXPECT_EQ(estimate.warps, 12);
  EXPECT_EQ(estimate.limit, "registers");
  EXPECT_EQ(Estimate(128, 128, 0).blocks, 4);
  EXPECT_EQ(Estimate(72, 128, 20480).blocks, 7);
}

TEST(OccupancyTest, SharedMemoryBounds) {
  EXPECT_EQ(Estimate(32, 128, 232448).blocks, 1);
  EXPECT_EQ(Estimate(32, 128, 100 * 1024).blocks, 2);
  EXPECT_EQ(Estimate(32, 128, 100 * 1024).limit, "shared memory");
}

TEST(OccupancyTest, WarpsAndBlocksBound) {
  EXPECT_EQ(Estimate(32, 1024, 0).blocks, 2);
  EXPECT_EQ(Estimate(16, 32, 0).blocks, 32);
  EXPECT_EQ(Estimate(16, 32, 0).limit, "blocks");
}

TEST(OccupancyTest, NothingFits) { EXPECT_EQ(Estimate(255, 1024, 0).blocks, 0); }

TEST(LaunchShapesTest, EqualLaunchesAreListedOnceInOrder) {
  v1::LaunchPlan plan;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(setup { launch { kernel: "init" } }
           steady {
             launch {
               kernel: "a"
               grid { x: 2 }
             }
           }
           steady { memset {} }
           steady { launch { kernel: "b" } }
           steady {
             launch {
               kernel: "a"
               grid { x: 2 }
             }
           }
           steady {
             launch {
               kernel: "a"
               grid { x: 3 }
             }
           })pb",
      &plan));
  const std::vector<v1::LaunchShape> shapes = LaunchShapes(plan);
  ASSERT_EQ(shapes.size(), 3);
  EXPECT_EQ(shapes[0].kernel(), "a");
  EXPECT_EQ(shapes[1].kernel(), "b");
  EXPECT_EQ(shapes[2].grid().x(), 3);
}

}  // namespace
}  // namespace sassay::agent
