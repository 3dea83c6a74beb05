#include "common/base/suggest.h"

#include "gtest/gtest.h"

namespace sassay {
namespace {

TEST(EditDistanceTest, CountsSwapOfNeighboursAsOneEdit) { EXPECT_EQ(EditDistance("submti", "submit"), 1u); }

TEST(EditDistanceTest, IgnoresCase) { EXPECT_EQ(EditDistance("PTR_CACHED", "ptr_cached"), 0u); }

TEST(NearestMatchTest, FindsTheWordOneEditAway) {
  EXPECT_EQ(NearestMatch("compil", {"submit", "compile", "cancel"}), "compile");
}

TEST(NearestMatchTest, FindsAWordByItsBeginning) {
  EXPECT_EQ(NearestMatch("mbarrier", {"BARRIER_DEADLOCK", "MBARRIER_DEADLOCK"}), "MBARRIER_DEADLOCK");
}

TEST(NearestMatchTest, SuggestsNothingForAStranger) { EXPECT_EQ(NearestMatch("zebra", {"submit", "compile"}), ""); }

TEST(DidYouMeanTest, QuotesTheSuggestion) {
  EXPECT_EQ(DidYouMean("servcie", {"service", "token_file"}), " Did you mean \"service\"?");
  EXPECT_EQ(DidYouMean("zebra", {"service"}), "");
}

}  // namespace
}  // namespace sassay
