#include "profiler_service/evidence/disassembly_cache.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"

namespace sassay::evidence {
namespace {

// Ten instructions of a function that is named after the cubin.
absl::StatusOr<Disassembly> TenInstructions(absl::string_view cubin) {
  return Disassembly{{std::string(cubin), std::vector<SassInstruction>(10)}};
}

class DisassemblyCacheTest : public testing::Test {
 protected:
  std::string Function(absl::string_view cubin) {
    const auto code = cache_.Get(cubin, absl::Seconds(1));
    return code.ok() && code->size() == 1 ? code->begin()->first : code.status().ToString();
  }

  std::vector<std::string> asked_;
  DisassemblyCache cache_{[this](absl::string_view cubin, absl::Duration) {
                            asked_.emplace_back(cubin);
                            return TenInstructions(cubin);
                          },
                          25};
};

TEST_F(DisassemblyCacheTest, CubinIsDisassembledOnce) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Function("a"), "a");
  EXPECT_EQ(asked_, (std::vector<std::string>{"a"}));
}

TEST_F(DisassemblyCacheTest, OneByteOfDifferenceIsAnotherCubin) {
  EXPECT_EQ(Function("a"), "a");
  EXPECT_EQ(Function("A"), "A");
  EXPECT_EQ(Function("a"), "a");
  EXPECT_EQ(asked_, (std::vector<std::string>{"a", "A"}));
}

TEST_F(DisassemblyCacheTest, TheOneThatWasUsedLongestAgoIsForgotten) {
  Function("a"), Function("b"), Function("a");
  Function("c");  // thirty instructions: b goes
  Function("a"), Function("c");
  EXPECT_EQ(asked_, (std::vector<std::string>{"a", "b", "c"}));
  Function("b");
  EXPECT_EQ(asked_.size(), 4u);
}

TEST(DisassemblyCache, CodeThatIsTooLargeIsGivenAndNotKept) {
  int asked = 0;
  DisassemblyCache cache([&](absl::string_view cubin, absl::Duration) { return ++asked, TenInstructions(cubin); }, 9);
  EXPECT_TRUE(cache.Get("a", absl::Seconds(1)).ok());
  EXPECT_TRUE(cache.Get("a", absl::Seconds(1)).ok());
  EXPECT_EQ(asked, 2);
}

TEST(DisassemblyCache, FailureIsToldAndTriedAgain) {
  int asked = 0;
  DisassemblyCache cache([&](absl::string_view cubin, absl::Duration) -> absl::StatusOr<Disassembly> {
    if (++asked == 1) return absl::DeadlineExceededError("slow");
    return TenInstructions(cubin);
  });
  EXPECT_EQ(cache.Get("a", absl::Seconds(1)).status().message(), "slow");
  EXPECT_TRUE(cache.Get("a", absl::Seconds(1)).ok());
}

TEST(DisassemblyCache, SecondWhoAsksWaitsForTheFirst) {
  int asked = 0;
  absl::Notification begun, go_on;
  DisassemblyCache cache([&](absl::string_view cubin, absl::Duration) {
    ++asked;
    begun.Notify();
    go_on.WaitForNotification();
    return TenInstructions(cubin);
  });
  std::thread first([&] { EXPECT_TRUE(cache.Get("a", absl::Seconds(1)).ok()); });
  begun.WaitForNotification();
  std::thread second([&] { EXPECT_TRUE(cache.Get("a", absl::Seconds(1)).ok()); });
  go_on.Notify();
  first.join();
  second.join();
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace sassay::evidence
