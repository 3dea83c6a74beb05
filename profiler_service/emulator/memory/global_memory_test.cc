#include "profiler_service/emulator/memory/global_memory.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::emulator {
namespace {

constexpr uint64_t kLimit = uint64_t{1} << 30;
constexpr uint64_t kBytes = 4096;

struct Range {
  uint64_t shortest, longest;
};

// Distances between two neighbours, as a kernel sees them: shared objects in a plain run, allocations in a checked one.
Range Distances(bool exact) {
  Range range = {UINT64_MAX, 0};
  for (int i = 0; i < 200; ++i) {
    GlobalMemory judge(false, kLimit), runner(exact, kLimit);
    uint64_t addresses[2];
    for (uint64_t& address : addresses) {
      UniqueFd fd;
      EXPECT_TRUE(judge.AllocateShared(kBytes, fd).ok());
      const auto mapped = runner.MapShared(fd.get(), kBytes);
      EXPECT_TRUE(mapped.ok()) << mapped.status();
      address = exact ? *runner.Allocate(kBytes, "A") : *mapped;
    }
    range.shortest = std::min(range.shortest, addresses[1] - addresses[0]);
    range.longest = std::max(range.longest, addresses[1] - addresses[0]);
  }
  return range;
}

TEST(GlobalMemory, ACheckedRunIsNotKnownByItsAddresses) {
  const Range plain = Distances(false), checked = Distances(true);
  EXPECT_LT(plain.shortest, checked.longest);
  EXPECT_LT(checked.shortest, plain.longest);
  EXPECT_LT(plain.shortest, plain.longest);
}

TEST(GlobalMemory, KernelsDoNotReachTheJudgesCopiesInACheckedRun) {
  GlobalMemory judge(false, kLimit), runner(true, kLimit);
  UniqueFd fd;
  ASSERT_TRUE(judge.AllocateShared(kBytes, fd).ok());
  const uint64_t copy = *runner.MapShared(fd.get(), kBytes);
  EXPECT_TRUE(runner.Host(copy, kBytes).ok());
  EXPECT_EQ(runner.Find(copy, 1), nullptr);
  EXPECT_EQ(runner.Nearest(copy), nullptr);
}

TEST(GlobalMemory, WhatTheJudgeFreedIsForgotten) {
  GlobalMemory judge(false, kBytes);
  for (int i = 0; i < 100; ++i) {
    UniqueFd fd;
    const auto address = judge.AllocateShared(kBytes, fd);
    ASSERT_TRUE(address.ok()) << address.status();
    ASSERT_TRUE(judge.Free(*address).ok());
    EXPECT_FALSE(judge.Free(*address).ok());
  }
}

TEST(GlobalMemory, FreedMemoryOfAKernelIsRemembered) {
  GlobalMemory memory(true, kLimit);
  const uint64_t address = *memory.Allocate(kBytes, "workspace 0");
  ASSERT_TRUE(memory.Free(address).ok());
  EXPECT_EQ(memory.Find(address, 1), nullptr);
  ASSERT_NE(memory.Nearest(address), nullptr);
  EXPECT_FALSE(memory.Nearest(address)->live);
}

}  // namespace
}  // namespace sassay::emulator
