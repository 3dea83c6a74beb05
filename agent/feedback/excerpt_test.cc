#include "agent/feedback/excerpt.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

TEST(PlacesInTest, FindsEachPlaceOnce) {
  const std::vector<SourcePlace> places =
      PlacesIn("kernel.cu:12: launch (gemm) at kernel.cu:40, block (0,0,0) 10:30; again kernel.cu:12, x.txt:5");
  ASSERT_EQ(places.size(), 2);
  EXPECT_EQ(places[0].file, "kernel.cu");
  EXPECT_EQ(places[0].line, 12);
  EXPECT_EQ(places[1].line, 40);
}

TEST(PlacesInTest, NonsenseIsNoPlace) {
  for (const char* text : {"", ":", "::", ".cu:3", "kernel.cu:", "kernel.cu:x", "kernel.cu:99999999999999", "a:1"})
    EXPECT_TRUE(PlacesIn(text).empty()) << text;
}

TEST(SourceExcerptsTest, MarksTheLineAmongItsNeighbours) {
  const SourceExcerpts excerpts("a\nb\nc\nd");
  EXPECT_EQ(excerpts.Around({"k.cu", 3}, "", 1), "       2 | b\n  >    3 | c\n       4 | d\n");
  EXPECT_EQ(excerpts.Around({"k.cu", 1}, "", 1), "  >    1 | a\n       2 | b\n");
}

TEST(SourceExcerptsTest, AnotherFilesLineIsShownAsItsTextAlone) {
  const SourceExcerpts excerpts("a\nb");
  EXPECT_EQ(excerpts.Around({"k.cu", 2}, "other", 1), "  | other\n");
  EXPECT_EQ(excerpts.Around({"x/k.cuh", 2}, "", 1), "");
  EXPECT_EQ(excerpts.Around({"k.cu", 3}, "", 1), "");
  EXPECT_EQ(excerpts.Around({}, "", 1), "");
}

}  // namespace
}  // namespace sassay::agent
