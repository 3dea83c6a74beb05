#include "common/process/memory_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace sassay {
namespace {

TEST(MemoryUse, TellsWhatIsResidentAndTheMostThatWas) {
  const uint64_t resident = MemoryUse(getpid(), "VmRSS");
  EXPECT_GT(resident, uint64_t{1} << 20);
  EXPECT_LT(resident, uint64_t{1} << 40);
  EXPECT_GE(MemoryUse(getpid(), "VmHWM"), uint64_t{1} << 20);
}

TEST(MemoryUse, IsNothingWhereThereIsNoProcessOrField) {
  EXPECT_EQ(MemoryUse(-1, "VmRSS"), 0u);
  EXPECT_EQ(MemoryUse(getpid(), "VmNothing"), 0u);
}

}  // namespace
}  // namespace sassay
