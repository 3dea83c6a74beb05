#include "monitor/sources/nvml/zero_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::monitor::nvml {
namespace {

using ::testing::ElementsAre;

class ZeroPagesTest : public testing::Test {
 protected:
  static constexpr size_t kPages = 6;
  ZeroPagesTest() { Map(MAP_PRIVATE | MAP_ANONYMOUS); }
  ~ZeroPagesTest() override { munmap(memory_, kPages * page_); }

  void Map(int flags) {
    if (memory_ != nullptr) munmap(memory_, kPages * page_);
    memory_ = static_cast<char*>(mmap(nullptr, kPages * page_, PROT_READ | PROT_WRITE, flags, -1, 0));
    ASSERT_NE(memory_, MAP_FAILED);
    madvise(memory_, kPages * page_, MADV_NOHUGEPAGE);
    std::memset(memory_, 0, kPages * page_);  // the kernel keeps it from here on
  }
  uintptr_t At(size_t offset) const { return reinterpret_cast<uintptr_t>(memory_) + offset; }
  size_t GiveBack() const { return GiveBackZeroPages(At(0), At(kPages * page_)); }
  std::vector<bool> Resident() const {
    std::vector<unsigned char> pages(kPages);
    EXPECT_EQ(mincore(memory_, kPages * page_, pages.data()), 0);
    std::vector<bool> resident;
    for (const unsigned char one : pages) resident.push_back((one & 1) != 0);
    return resident;
  }

  const size_t page_ = sysconf(_SC_PAGESIZE);
  char* memory_ = nullptr;
};

TEST_F(ZeroPagesTest, PagesOfZerosAreGivenBackAndOthersStayAsTheyAre) {
  memory_[page_] = 'a';
  memory_[4 * page_ - 1] = 'b';
  EXPECT_EQ(GiveBack(), 4 * page_);
  EXPECT_THAT(Resident(), ElementsAre(false, true, false, true, false, false));
  EXPECT_EQ(memory_[page_], 'a');
  EXPECT_EQ(memory_[4 * page_ - 1], 'b');
}

TEST_F(ZeroPagesTest, WhatWasGivenBackReadsAsZerosAndCanBeWritten) {
  GiveBack();
  for (size_t i = 0; i < kPages * page_; ++i) ASSERT_EQ(memory_[i], 0);
  memory_[2 * page_] = 'c';
  EXPECT_EQ(memory_[2 * page_], 'c');
}

// A thread that goes on writing must find everything that it wrote, whenever the pages are taken.
TEST_F(ZeroPagesTest, NothingIsLostThatSomebodyWritesMeanwhile) {
  std::atomic<bool> stop = false;
  std::atomic<int> lost = 0;
  std::thread writer([&] {
    volatile char* word = memory_ + 3 * page_;
    for (char value = 1; !stop; value = static_cast<char>(value % 100 + 1)) {
      *word = value;
      for (int i = 0; i < 100; ++i) lost += *word != value && *word != 0;
      *word = 0;
    }
    *word = 77;
  });
  for (int i = 0; i < 2000; ++i) GiveBack();
  stop = true;
  writer.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(memory_[3 * page_], 77);
}

TEST_F(ZeroPagesTest, OnlyWholePagesInsideAreLookedAt) {
  EXPECT_EQ(GiveBackZeroPages(At(1), At(3 * page_ - 1)), page_);
  EXPECT_THAT(Resident(), ElementsAre(true, false, true, true, true, true));
  EXPECT_EQ(GiveBackZeroPages(At(page_ + 1), At(2 * page_ - 1)), 0u);
}

TEST_F(ZeroPagesTest, SharedMemoryIsLeftAlone) {
  Map(MAP_SHARED | MAP_ANONYMOUS);
  EXPECT_EQ(GiveBack(), 0u);
}

TEST_F(ZeroPagesTest, LibraryThatIsNotLoadedHasNothing) { EXPECT_EQ(GiveBackZeroPages("libno-such-library"), 0u); }

}  // namespace
}  // namespace sassay::monitor::nvml
