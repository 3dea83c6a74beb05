#include "common/workload/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sassay {
namespace {

using ::testing::HasSubstr;

const std::map<std::string, int64_t> kAxes = {{"M", 3}, {"N", 5}, {"big", int64_t{1} << 31}};

std::string Error(absl::string_view text) { return std::string(EvaluateExpression(text, kAxes).status().message()); }

TEST(Expression, FollowsTheRulesOfArithmetic) {
  EXPECT_EQ(*EvaluateExpression("2*M*N", kAxes), 30);
  EXPECT_EQ(*EvaluateExpression(" 1 + 2 * 3 ", kAxes), 7);
  EXPECT_EQ(*EvaluateExpression("(1+2)*3", kAxes), 9);
  EXPECT_EQ(*EvaluateExpression("N-M-1", kAxes), 1);
  EXPECT_EQ(*EvaluateExpression("-M+4", kAxes), 1);
  EXPECT_EQ(*EvaluateExpression("8/2/2", kAxes), 2);
  EXPECT_EQ(*EvaluateExpression("0.5*N", kAxes), 2.5);
  EXPECT_EQ(*EvaluateExpression("7", kAxes), 7);
}

TEST(Expression, LargeAxesDoNotOverflow) {
  EXPECT_DOUBLE_EQ(*EvaluateExpression("big*big*big", kAxes), 9903520314283042199192993792.0);
}

TEST(Expression, NamesThePlaceOfAnError) {
  EXPECT_THAT(Error("2*Q"), HasSubstr("character 3: expected a number or an axis instead of 'Q'"));
  EXPECT_THAT(Error("2*"), HasSubstr("character 3: expected a number, an axis or '('"));
  EXPECT_THAT(Error("(M"), HasSubstr("expected ')'"));
  EXPECT_THAT(Error("M N"), HasSubstr("character 3: expected an operator"));
  EXPECT_THAT(Error(""), HasSubstr("expected a number"));
  EXPECT_THAT(Error("1e9"), HasSubstr("instead of '1e9'"));
  EXPECT_THAT(Error("1.2.3"), HasSubstr("instead of '1.2.3'"));
}

TEST(Expression, RefusesResultsThatAreNotFinite) { EXPECT_THAT(Error("M/0"), HasSubstr("not finite")); }

TEST(Expression, RefusesDepthAndLength) {
  EXPECT_THAT(Error(std::string(200, '(')), HasSubstr("fewer nested parentheses"));
  EXPECT_THAT(Error(std::string(200, '-')), HasSubstr("fewer nested parentheses"));
  EXPECT_THAT(Error(std::string(2000, '1')), HasSubstr("2000 characters"));
}

}  // namespace
}  // namespace sassay
