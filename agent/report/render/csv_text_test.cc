#include "agent/report/render/csv_text.h"

#include <gtest/gtest.h>

namespace sassay::agent {
namespace {

std::string Line(ReportCell cell) {
  const std::string text = CsvText({{"x"}, {{std::move(cell)}}});
  return text.substr(2, text.size() - 3);
}

std::string Line(const std::string& text) { return Line(ReportCell::Text(text)); }

TEST(CsvText, TextIsNeverAFormula) {
  EXPECT_EQ(Line("=HYPERLINK(1)"), "'=HYPERLINK(1)");
  EXPECT_EQ(Line("+1"), "'+1");
  EXPECT_EQ(Line("-x"), "'-x");
  EXPECT_EQ(Line("@SUM(A1)"), "'@SUM(A1)");
  EXPECT_EQ(Line("\t=1"), "'\t=1");
  EXPECT_EQ(Line("\uFF1D1"), "'\uFF1D1");
  EXPECT_EQ(Line("=1,\"2\""), "\"'=1,\"\"2\"\"\"");
  EXPECT_EQ(Line("a=b"), "a=b");
}

TEST(CsvText, NumbersStayNumbers) {
  EXPECT_EQ(Line(ReportCell::Number(-1.5)), "-1.5");
  EXPECT_EQ(Line(ReportCell::Count(7)), "7");
  EXPECT_EQ(Line(ReportCell::Share(0.8125)), "0.8125");
  EXPECT_EQ(Line(ReportCell::Number(std::nullopt)), "");
}

TEST(CsvText, WhatATerminalWouldObeyIsSpelledOut) {
  EXPECT_EQ(Line("a\x1b[2J\r"), "a\\x1b[2J\\x0d");
  EXPECT_EQ(Line("\u202Egpj.exe"), "\\u{202e}gpj.exe");
  EXPECT_EQ(Line("two\nlines"), "\"two\nlines\"");
}

}  // namespace
}  // namespace sassay::agent
