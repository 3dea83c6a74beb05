#include "profiler_service/emulator/ops/memory/banks.h"

#include <gtest/gtest.h>

namespace sassay::emulator {
namespace {

Passes OfStride(uint32_t stride, uint32_t bytes, uint32_t mask = ~0u) {
  uint32_t offsets[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) offsets[lane] = lane * stride;
  return PassesOver(offsets, mask, bytes);
}

TEST(BanksTest, NeighboursTakeOnePassAndColumnsOneForEachLane) {
  EXPECT_EQ(OfStride(4, 4).taken, 1u);
  EXPECT_EQ(OfStride(0, 4).taken, 1u);  // one word for all
  EXPECT_EQ(OfStride(8, 4).taken, 2u);
  EXPECT_EQ(OfStride(128, 4).taken, 32u);
  EXPECT_EQ(OfStride(132, 4).taken, 1u);  // padded
  EXPECT_EQ(OfStride(128, 4, 0xff).taken, 8u);
}

TEST(BanksTest, WideAccessesGoInGroupsOf128Bytes) {
  EXPECT_EQ(OfStride(8, 8).taken, 2u);
  EXPECT_EQ(OfStride(8, 8).least, 2u);
  EXPECT_EQ(OfStride(16, 16).taken, 4u);
  EXPECT_EQ(OfStride(128, 16).taken, 32u);
  EXPECT_EQ(OfStride(128, 16).least, 4u);
  EXPECT_EQ(OfStride(144, 16).taken, 4u);
}

TEST(BanksTest, NarrowOnesShareWords) {
  EXPECT_EQ(OfStride(1, 1).taken, 1u);
  EXPECT_EQ(OfStride(2, 2).taken, 1u);
  EXPECT_EQ(OfStride(4, 1).least, 1u);
}

}  // namespace
}  // namespace sassay::emulator
