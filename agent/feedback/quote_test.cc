#include "agent/feedback/quote.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

TEST(QuoteTest, CodeStaysReadable) {
  EXPECT_EQ(InertSource("\tif (a < b && c[i] > 0) x |= y;  "), "    if (a < b && c[i] > 0) x |= y;");
}

TEST(QuoteTest, FencesAndTemplateMarksAreBroken) {
  EXPECT_EQ(InertLine("```<|eot_id|>[/INST]"), "` ` `< |eot_id| >[ /INST]");
}

TEST(QuoteTest, HiddenAndControlCharactersAreSpelledOut) {
  EXPECT_EQ(InertLine("a\xe2\x80\x8b"
                      "b\x07"),
            "a\\u{200b}b\\x07");
}

TEST(QuoteTest, LongLinesSayHowMuchIsMissing) {
  EXPECT_EQ(InertLine(std::string(60, 'a'), 50), std::string(50, 'a') + " ... (10 more bytes)");
}

TEST(QuoteTest, CutsBetweenCharacters) {
  const std::string text = InertLine("aaaa\xc3\xa9", 5);
  EXPECT_EQ(text.substr(0, 9), "aaaa ... ");
}

TEST(QuoteTest, BlocksShowTheirBeginningAndTheirEnd) {
  EXPECT_EQ(QuotedBlock("1\n2\n3\n4\n5\n", 3), "  | 1\n  | 2\n  (2 lines left out)\n  | 5\n");
}

}  // namespace
}  // namespace sassay::agent
