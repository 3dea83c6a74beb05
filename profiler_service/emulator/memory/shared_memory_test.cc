#include "profiler_service/emulator/memory/shared_memory.h"

#include "gtest/gtest.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kBytes = 256, kWarps = 8;

Touch By(uint32_t warp, uint32_t inst = 1) {
  Touch touch;
  touch.thread = static_cast<uint16_t>(32 * warp);
  touch.inst = inst;
  return touch;
}

class SharedMemoryTest : public ::testing::Test {
 protected:
  SharedMemoryTest() { memory_.Reset({.bytes = kBytes, .warps = kWarps, .checked = true}); }
  bool Reads(uint32_t warp, uint32_t offset, uint32_t bytes) { return memory_.Read(offset, bytes, By(warp), race_); }
  bool Writes(uint32_t warp, uint32_t offset, uint32_t bytes) { return memory_.Write(offset, bytes, By(warp), race_); }
  SharedMemory memory_;
  Race race_;
};

TEST_F(SharedMemoryTest, SixteenBytesAtOnceRaceWithAnyPartOfThem) {
  EXPECT_FALSE(Writes(0, 32, 16));
  EXPECT_FALSE(Reads(1, 48, 4));
  EXPECT_FALSE(Reads(1, 16, 16));
  EXPECT_TRUE(Reads(1, 46, 2));
  EXPECT_EQ(race_.other.warp(), 0u);
  EXPECT_TRUE(race_.other_wrote);
  EXPECT_TRUE(Writes(2, 33, 1));
}

TEST_F(SharedMemoryTest, APartRacesWithSixteenBytesAtOnce) {
  EXPECT_FALSE(Writes(0, 68, 4));
  EXPECT_FALSE(Writes(1, 72, 4));  // another part
  EXPECT_TRUE(Reads(2, 64, 16));
  memory_.Join(~0u);
  EXPECT_FALSE(Writes(3, 64, 16));
  EXPECT_TRUE(Reads(0, 70, 2));
  EXPECT_FALSE(Reads(3, 70, 2));
}

TEST_F(SharedMemoryTest, BytesOfOneGranuleAreToldApart) {
  EXPECT_FALSE(Writes(0, 100, 1));
  EXPECT_FALSE(Writes(1, 101, 1));
  EXPECT_TRUE(Writes(2, 101, 1));
}

TEST_F(SharedMemoryTest, AnAccessAcrossManyPiecesNotesEachOfThem) {
  EXPECT_FALSE(Writes(0, 10, 100));
  EXPECT_FALSE(Reads(1, 0, 10));
  EXPECT_FALSE(Reads(1, 110, 20));
  EXPECT_TRUE(Reads(1, 10, 1));
  EXPECT_TRUE(Reads(1, 64, 16));
  EXPECT_TRUE(Reads(1, 109, 1));
}

TEST_F(SharedMemoryTest, AnEarlierLifeIsNobodysRace) {
  EXPECT_FALSE(Writes(0, 0, 16));
  EXPECT_FALSE(Writes(0, 20, 2));
  memory_.Reset({.bytes = kBytes, .warps = kWarps, .checked = true});
  EXPECT_FALSE(Reads(1, 0, 32));
}

class ClusterMemoryTest : public ::testing::Test {
 protected:
  ClusterMemoryTest() {
    for (uint32_t rank = 0; rank < 2; ++rank) {
      blocks_[rank].Reset({.bytes = kBytes, .warps = kWarps, .checked = true, .rank = rank, .blocks = 2});
    }
  }
  // A barrier of the cluster.
  void Meet() {
    Past place;
    for (SharedMemory& block : blocks_) block.TellAll(place);
    for (SharedMemory& block : blocks_) block.Join(~0u), block.Learn(place);
  }
  SharedMemory blocks_[2];
  Race race_;
};

TEST_F(ClusterMemoryTest, WhatNobodyToldRaces) {
  EXPECT_FALSE(blocks_[1].Write(16, 4, By(3), race_));
  EXPECT_TRUE(blocks_[1].Read(16, 4, By(0), race_, blocks_[0]));
  EXPECT_EQ(race_.other.rank, 1);
  EXPECT_EQ(race_.other.warp(), 3u);
  EXPECT_FALSE(blocks_[1].Read(20, 4, By(0), race_, blocks_[0]));
}

TEST_F(ClusterMemoryTest, ABarrierOfTheClusterOrders) {
  EXPECT_FALSE(blocks_[1].Write(16, 4, By(3), race_));
  Meet();
  EXPECT_FALSE(blocks_[1].Read(16, 4, By(0), race_, blocks_[0]));
  EXPECT_TRUE(blocks_[1].Write(16, 4, By(5), race_));
  EXPECT_EQ(race_.other.rank, 0);
  EXPECT_FALSE(race_.other_wrote);
}

TEST_F(ClusterMemoryTest, WhatAWarpTellsHoldsItsWarpgroupAndWhatItKnew) {
  EXPECT_FALSE(blocks_[1].Write(0, 4, By(3), race_));
  EXPECT_FALSE(blocks_[1].Write(4, 4, By(4), race_));
  Past place;
  blocks_[1].Tell(2, place);
  blocks_[0].Learn(place);
  EXPECT_TRUE(blocks_[0].HeardOf(1));
  EXPECT_FALSE(blocks_[1].HeardOf(0));
  EXPECT_FALSE(blocks_[1].Read(0, 4, By(0), race_, blocks_[0]));
  EXPECT_TRUE(blocks_[1].Read(4, 4, By(0), race_, blocks_[0]));
}

TEST_F(ClusterMemoryTest, WhatAnotherBlockDoesLastMustBeKnownBeforeTheExit) {
  Meet();
  EXPECT_FALSE(blocks_[1].Read(0, 4, By(6), race_, blocks_[0]));
  ASSERT_EQ(blocks_[1].StillToCome().size(), 1u);
  EXPECT_EQ(blocks_[1].StillToCome()[0].warp(), 6u);
  EXPECT_EQ(blocks_[1].StillToCome()[0].rank, 0);
  Meet();
  EXPECT_TRUE(blocks_[1].StillToCome().empty());
}

TEST_F(ClusterMemoryTest, AFlagInSharedMemoryOrders) {
  EXPECT_FALSE(blocks_[1].Write(0, 4, By(0), race_, blocks_[0]));  // block 0 stores, then sets a flag there
  blocks_[0].TellAt(blocks_[1], 0, 128);
  EXPECT_TRUE(blocks_[1].Read(0, 4, By(1), race_));
  blocks_[1].Observe(1, 128);
  EXPECT_FALSE(blocks_[1].Read(0, 4, By(1), race_));
}

}  // namespace
}  // namespace sassay::emulator
