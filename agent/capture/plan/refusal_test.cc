#include "agent/capture/plan/refusal.h"

#include <gtest/gtest.h>

namespace sassay::capture {
namespace {

TEST(Printable, KeepsUtf8AndBlanksControlCharacters) { EXPECT_EQ(Printable("größe\n\t→\x7F|"), "größe  → |"); }

TEST(Printable, MarksBytesThatAreNotUtf8) {
  EXPECT_EQ(Printable("bad size \xff\xfe here"), "bad size ?? here");
  EXPECT_EQ(Printable("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80\xe2\x82"), std::string(11, '?'));
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(Printable("ab→", 4), "ab");
  EXPECT_EQ(Printable("ab→", 5), "ab→");
}

}  // namespace
}  // namespace sassay::capture
