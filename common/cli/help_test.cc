#include "common/cli/help.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

using ::testing::HasSubstr;

TEST(WrapText, BreaksAtBlanksAndLeavesExamplesAlone) {
  EXPECT_EQ(WrapText("one two three\n  program --flag value", 8), "one two\nthree\n  program --flag value");
  EXPECT_EQ(WrapText("unbreakable x", 4), "unbreakable\nx");
  EXPECT_EQ(WrapText("", 4), "");
  EXPECT_EQ(WrapText("a\n\nb\n", 4), "a\n\nb\n");
}

// What help of `columns` prints of a command with one long description of each kind.
std::string HelpAt(size_t columns) {
  CLI::App root("A program that has a rather long description", "program");
  WrapHelp(root, columns);
  root.footer("Says much about how it ends.\n\nExamples:\n  program --color always and some more arguments");
  bool color = false;
  root.add_flag("--color", color, "words that do not fit on one line");
  root.add_subcommand("go", "another text that does not fit here");
  return root.help();
}

TEST(WrapHelp, KeepsDescriptionsInTheirColumn) {
  const std::string help = HelpAt(42);
  EXPECT_THAT(help, HasSubstr("A program that has a rather long\ndescription\n"));
  EXPECT_THAT(help, HasSubstr("  --color     words that do not fit on one\n              line\n"));
  EXPECT_THAT(help, HasSubstr("  go          another text that does not\n              fit here\n"));
  EXPECT_THAT(help, HasSubstr("  program --color always and some more arguments\n"));
}

TEST(WrapHelp, OfNoTerminalIsOneLineEach) { EXPECT_THAT(HelpAt(0), HasSubstr("words that do not fit on one line\n")); }

}  // namespace
}  // namespace sassay
