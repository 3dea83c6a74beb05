#include "agent/compile/facts.h"

#include "gtest/gtest.h"

namespace sassay {
namespace {

TEST(ParseSpills, ReadsWhatPtxasPrints) {
  auto spills = ParseSpills(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90a'\n"
      "ptxas info    : Function properties for _Z1kPf\n"
      "    32 bytes stack frame, 120 bytes spill stores, 140 bytes spill loads\n"
      "ptxas info    : Used 10 registers\n"
      "ptxas info    : Function properties for _Z1gv\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n");
  ASSERT_EQ(spills.size(), 2u);
  EXPECT_EQ(spills["_Z1kPf"].store_bytes, 120u);
  EXPECT_EQ(spills["_Z1kPf"].load_bytes, 140u);
  EXPECT_EQ(spills["_Z1gv"].store_bytes, 0u);
}

TEST(ParseSpills, PassesOverNonsense) {
  EXPECT_TRUE(
      ParseSpills("Function properties for \n1 bytes stack\n2 bytes stack frame, 3 bytes spill stores, 4").empty());
}

TEST(MakeFacts, RefusesACubinThatCannotBeRead) {
  EXPECT_EQ(MakeFacts("not a cubin", "", {}).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace sassay
