#include "profiler_service/judge/numerics/pattern.h"

#include <cmath>
#include <functional>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay::judge {
namespace {

using testing::HasSubstr;

// A field of normal values, changed by `change` where it returns another value.
std::string Describe(std::vector<int64_t> shape,
                     const std::function<double(const std::vector<double>&, size_t)>& actual) {
  size_t size = 1;
  for (int64_t extent : shape) size *= extent;
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> expected(size), values(size);
  for (double& value : expected) value = normal(random);
  std::vector<uint8_t> wrong(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = actual(expected, i);
    wrong[i] = !(std::fabs(values[i] - expected[i]) < 1e-6);
  }
  return DescribeErrors({shape, expected, values, wrong});
}

TEST(Pattern, SaysNothingWhereNothingIsWrong) {
  EXPECT_EQ(Describe({4, 4}, [](auto& e, size_t i) { return e[i]; }), "");
}

TEST(Pattern, NamesTheLastTile) {
  EXPECT_THAT(Describe({256, 64}, [](auto& e, size_t i) { return i / 64 >= 192 ? 0.0 : e[i]; }),
              HasSubstr("all errors have row >= 192"));
  EXPECT_THAT(Describe({64, 64}, [](auto& e, size_t i) { return i / 64 >= 48 && i % 64 >= 32 ? 0.0 : e[i]; }),
              HasSubstr("all errors have row >= 48 and column >= 32"));
}

TEST(Pattern, NamesEverySixteenthColumn) {
  EXPECT_THAT(Describe({32, 64}, [](auto& e, size_t i) { return i % 16 == 15 ? e[i] + 1 + e[i] * e[i] : e[i]; }),
              HasSubstr("column % 16 == 15 (every 16th)"));
}

TEST(Pattern, NamesOneHead) {
  EXPECT_THAT(Describe({2, 4, 8, 8}, [](auto& e, size_t i) { return i / 64 % 4 == 1 ? e[i] + e[i] * e[i] : e[i]; }),
              HasSubstr("head = 1"));
}

TEST(Pattern, SeesATransposition) {
  EXPECT_THAT(Describe({32, 32}, [](auto& e, size_t i) { return e[i % 32 * 32 + i / 32]; }),
              HasSubstr("look transposed"));
}

TEST(Pattern, NamesAMissingScale) {
  EXPECT_THAT(Describe({16, 64}, [](auto& e, size_t i) { return 8 * e[i]; }),
              HasSubstr("actual = expected x 8 (missing scale 1/sqrt(64))"));
  EXPECT_THAT(Describe({16, 64}, [](auto& e, size_t i) { return -e[i]; }), HasSubstr("wrong sign"));
  EXPECT_THAT(Describe({16, 60}, [](auto& e, size_t i) { return 1.442695 * e[i]; }), HasSubstr("log2"));
}

TEST(Pattern, NamesConstantsAndOffsets) {
  EXPECT_THAT(Describe({16, 16}, [](auto& e, size_t i) { return 0.0; }), HasSubstr("zero"));
  EXPECT_THAT(Describe({16, 16}, [](auto& e, size_t i) { return 0.5; }), HasSubstr("constant 0.5"));
  EXPECT_THAT(Describe({16, 16}, [](auto& e, size_t i) { return NAN; }), HasSubstr("NaN"));
  EXPECT_THAT(Describe({16, 16}, [](auto& e, size_t i) { return e[i] + 3; }), HasSubstr("actual = expected + 3"));
}

TEST(Pattern, SeesAShiftByOne) {
  EXPECT_THAT(Describe({32, 32}, [](auto& e, size_t i) { return i + 1 < e.size() ? e[i + 1] : 0; }),
              HasSubstr("shifted by one column"));
  EXPECT_THAT(Describe({32, 32}, [](auto& e, size_t i) { return i >= 32 ? e[i - 32] : 0; }),
              HasSubstr("shifted by one row"));
}

TEST(Pattern, SeesTheUpperTriangle) {
  EXPECT_THAT(Describe({32, 32}, [](auto& e, size_t i) { return i % 32 > i / 32 ? e[i] + e[i] * e[i] : e[i]; }),
              HasSubstr("column > row"));
}

TEST(Pattern, NamesASingleElement) {
  EXPECT_THAT(Describe({32, 32}, [](auto& e, size_t i) { return i == 77 ? 5 : e[i]; }), HasSubstr("single element"));
}

TEST(Pattern, UnrelatedValuesGetNoFalseExplanation) {
  EXPECT_THAT(
      Describe({32, 32}, [](auto& e, size_t i) { return std::sin(static_cast<double>(i) * 12.9898) * 3; }),
      testing::MatchesRegex("actual has no relation to expected .correlation -?0.0[0-9]. and is 2.[0-9]* times as "
                            "large; every element is wrong"));
}

TEST(Pattern, ValuesOfTheRightSizeFromElsewhereSuggestSwappedIndices) {
  EXPECT_THAT(Describe({32, 64}, [](auto& e, size_t i) { return e[(i * 797 + 5) % e.size()]; }),
              HasSubstr("perhaps the wrong elements were read (a transposed operand?)"));
}

TEST(Pattern, SaysHowFarActualFollowsExpected) {
  EXPECT_THAT(Describe({32, 64}, [](auto& e, size_t i) { return 3 * e[i] + e[(i * 797 + 5) % e.size()]; }),
              testing::MatchesRegex("actual follows expected .correlation 0.9[0-9]. and is 3.[0-9]* times as large.*"));
}

TEST(Pattern, ValuesNeverWrittenAreNotInterpreted) {
  const std::vector<double> expected = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, actual(10, 1.5);
  const std::vector<uint8_t> wrong(10, 1);
  EXPECT_EQ(DescribeErrors({{10}, expected, actual, wrong, /*unwritten=*/true}), "every element is wrong");
}

}  // namespace
}  // namespace sassay::judge
