#include "agent/dataset/normalise.h"

#include "gtest/gtest.h"

namespace sassay::agent {
namespace {

std::string Cuda(absl::string_view source) { return NormalisedSource(source, SourceLanguage::kCuda); }
std::string Python(absl::string_view source) { return NormalisedSource(source, SourceLanguage::kPython); }

TEST(NormaliseTest, CommentsAndWhiteSpaceDoNotCount) {
  EXPECT_EQ(Cuda("int  a; // one\n\n/* two\nlines */ int\tb;\r\n"), "int a;\nint b;");
  EXPECT_EQ(Cuda("int a;\nint b;"), "int a;\nint b;");
}

TEST(NormaliseTest, TextsInQuotesStay) {
  EXPECT_EQ(Cuda("asm(\"mov // no comment\\\" /* nor this */\"); // yes"),
            "asm(\"mov // no comment\\\" /* nor this */\");");
}

TEST(NormaliseTest, PythonKeepsItsIndentation) {
  EXPECT_EQ(Python("def f(x):  # comment\n\n    return   '#' + x\n"), "def f(x):\n    return '#' + x");
  EXPECT_NE(Python("if a:\n  b\nc"), Python("if a:\n  b\n  c"));
}

TEST(NormaliseTest, UnfinishedPiecesEndWithTheText) {
  EXPECT_EQ(Cuda("a /* b"), "a");
  EXPECT_EQ(Cuda("a \"b"), "a \"b");
  EXPECT_EQ(Cuda("\"\\"), "\"\\");
  EXPECT_EQ(Python("'''a"), "'''a");
  EXPECT_EQ(Cuda(""), "");
}

TEST(NormaliseTest, AQuoteAsACharacterHidesNoComment) {
  EXPECT_EQ(Cuda("char c = '\"'; // one"), "char c = '\"';");
  EXPECT_EQ(Cuda("char c = '\\\"'; /* two */ int n = 1'000;"), "char c = '\\\"'; int n = 1'000;");
}

}  // namespace
}  // namespace sassay::agent
