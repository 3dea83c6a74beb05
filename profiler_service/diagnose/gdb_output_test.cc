#include "profiler_service/diagnose/gdb_output.h"

#include <gtest/gtest.h>

#include "profiler_service/diagnose/testing.h"

namespace sassay::diagnose {
namespace {

TEST(GdbOutput, AHangTellsWhereEveryThreadStands) {
  const StandingThreads threads = ParseStandingThreads(Recorded("gdb_threads_hang.txt"));
  EXPECT_EQ(threads.exception, "");
  EXPECT_EQ(threads.focus_block.x(), 2u);
  ASSERT_EQ(threads.groups.size(), 16u);
  EXPECT_EQ(threads.block_dims.at(0).x(), 128u);
  const ThreadGroup& last = threads.groups.back();
  EXPECT_EQ(last.block.x(), 3u);
  EXPECT_EQ(last.thread.x(), 96u);
  EXPECT_EQ(last.count, 32u);
  EXPECT_EQ(last.pc, 0x7f2e777a0290u);
  EXPECT_EQ(last.file, "/tmp/candidate/bad.cu");
  EXPECT_EQ(last.line, 85u);
}

TEST(GdbOutput, AFaultHasItsNameAndPlace) {
  const StandingThreads threads = ParseStandingThreads(Recorded("gdb_threads_misaligned.txt"));
  EXPECT_EQ(threads.exception, "Warp Misaligned Address");
  EXPECT_EQ(threads.exception_pc, 0x7fa2277a0080u);
  EXPECT_EQ(threads.exception_function, "misaligned");
  EXPECT_EQ(threads.exception_source_line, "bad.cu:91");
  ASSERT_EQ(threads.groups.size(), 1u);
  EXPECT_EQ(threads.groups[0].count, 256u);
}

TEST(GdbOutput, ATrapIsTheThreadInFocus) {
  const StandingThreads threads = ParseStandingThreads(Recorded("gdb_threads_trap.txt"));
  EXPECT_EQ(threads.exception, "Trace/breakpoint trap");
  EXPECT_EQ(threads.exception_pc, 0u);
  EXPECT_EQ(threads.focus_thread.x(), 7u);
  EXPECT_EQ(threads.groups.size(), 2u);
}

TEST(GdbOutput, ForeignTextTellsNothing) {
  for (const char* text : {"", "PASSED", "(0,0,0) (1,0) (2,0,0) (3,0,0) 5 0x1", "Kernel x",
                           "CUDA Exception: ", "(0,0,0) (0,0,0) (0,0,0) (0,0,0) -1 0xzz f 1"}) {
    const StandingThreads threads = ParseStandingThreads(text);
    EXPECT_TRUE(threads.groups.empty()) << text;
    EXPECT_EQ(threads.exception, "") << text;
  }
}

class PlacesTest : public testing::Test {
 protected:
  const std::vector<uint64_t> pcs_ = {0x7f2e777a0290, 0x7f2e777a0330, 0x7f2e777a0220};
  const std::map<uint64_t, Place> places_ = ParsePlaces(Recorded("gdb_places_hang.txt"), pcs_);
};

TEST_F(PlacesTest, EveryPlaceHasKernelFunctionOffsetAndInstruction) {
  ASSERT_EQ(places_.size(), 3u);
  const Place& inner = places_.at(0x7f2e777a0330);
  EXPECT_EQ(inner.kernel, "hang");
  EXPECT_EQ(inner.function, "_Z8wait_forjj");
  EXPECT_EQ(inner.offset, 128u);
  EXPECT_EQ(inner.sass, "@!P0 BRA 0x7f2e777a0310");
  EXPECT_EQ(places_.at(0x7f2e777a0220).function, "hang");
}

TEST_F(PlacesTest, WhatAWarpDoesIsReadFromTheCodeAroundIt) {
  bool behind = false;
  EXPECT_EQ(Doing(places_.at(0x7f2e777a0330), behind), "waiting at an mbarrier");
  EXPECT_FALSE(behind);
  EXPECT_EQ(Doing(places_.at(0x7f2e777a0220), behind), "running");
  EXPECT_EQ(Doing(places_.at(0x7f2e777a0290), behind), "waiting at a barrier");
  EXPECT_TRUE(behind) << "it stands at the instruction behind the barrier";
  EXPECT_EQ(places_.at(0x7f2e777a0290).line_before, 84u);
}

TEST_F(PlacesTest, WhatWasNotAskedForIsPassedOver) {
  EXPECT_TRUE(ParsePlaces(Recorded("gdb_places_hang.txt"), {0x1234}).empty());
}

}  // namespace
}  // namespace sassay::diagnose
