#include "common/terminal/text.h"

#include "common/terminal/style.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

TEST(PrintableTest, DisarmsEscapeSequences) {
  EXPECT_EQ(Printable("a\033[2Jb\r"), "a\\x1b[2Jb\\x0d");
  EXPECT_EQ(Printable("\xC2\x9B"
                      "31m"),
            "\\u{9b}31m");
  EXPECT_EQ(Printable("\x7F"), "\\x7f");
}

TEST(PrintableTest, KeepsUtf8AndDisarmsWhatIsNone) {
  EXPECT_EQ(Printable("\xC3\xA4\xE2\x82\xAC"), "\xC3\xA4\xE2\x82\xAC");
  EXPECT_EQ(Printable("\u2026\u4E2D\u05D0\U0001F600"), "\u2026\u4E2D\u05D0\U0001F600");
  EXPECT_EQ(Printable("\xFF\xE2\x82"), "\\xff\\xe2\\x82");
}

TEST(PrintableTest, SpellsOutWhatHidesOrTurnsTextAround) {
  EXPECT_EQ(Printable("a\u202Eb\u2066c\u2069"), "a\\u{202e}b\\u{2066}c\\u{2069}");
  EXPECT_EQ(Printable("\u200B\u200F\u2028\uFEFF\u00AD\u061C"), "\\u{200b}\\u{200f}\\u{2028}\\u{feff}\\u{ad}\\u{61c}");
  // Tags and variation selectors, which carry hidden text into a prompt.
  EXPECT_EQ(Printable("\U000E0041\U000E0100\uFE0F"), "\\u{e0041}\\u{e0100}\\u{fe0f}");
}

TEST(PrintableTest, LineHasNoNewline) { EXPECT_EQ(PrintableLine(" a\n\tb\n"), "a /  b"); }

TEST(UnitsTest, ChooseTheReadableUnit) {
  EXPECT_EQ(DurationText(850), "850 ns");
  EXPECT_EQ(DurationText(1.234e6), "1.23 ms");
  EXPECT_EQ(DurationText(4.5e9), "4.50 s");
  EXPECT_EQ(DurationText(125e9), "2 min 5 s");
  EXPECT_EQ(BytesText(96), "96 B");
  EXPECT_EQ(BytesText(131072), "128.0 KiB");
  EXPECT_EQ(BytesText(~uint64_t{0}), "16.0 EiB");
  EXPECT_EQ(CountText(65536), "65,536");
  EXPECT_EQ(CountText(100), "100");
}

TEST(ColumnsTest, PadWithoutTrailingSpaces) {
  EXPECT_EQ(Columns({{"a", "bb", "c"}, {"\xC3\xA4\xC3\xA4", "b"}}, "  "), "  a   bb  c\n  \xC3\xA4\xC3\xA4  b\n");
}

TEST(StyleTest, ColoursOnlyWhereSomebodySeesThem) {
  EXPECT_TRUE(WantColor("auto", true, "", "xterm"));
  EXPECT_FALSE(WantColor("auto", false, "", "xterm"));
  EXPECT_FALSE(WantColor("auto", true, "1", "xterm"));
  EXPECT_FALSE(WantColor("auto", true, "", "dumb"));
  EXPECT_TRUE(WantColor("always", false, "1", "dumb"));
  EXPECT_FALSE(WantColor("never", true, "", "xterm"));
  EXPECT_EQ(Style(false).Bad("x"), "x");
  EXPECT_EQ(Style(true).Bad("x"), "\033[31mx\033[0m");
}

}  // namespace
}  // namespace sassay
