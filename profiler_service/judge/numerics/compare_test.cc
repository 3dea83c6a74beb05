#include "profiler_service/judge/numerics/compare.h"

#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/judge/numerics/element.h"

namespace sassay::judge {
namespace {

using namespace sassay::v1;  // NOLINT: dtype names
using testing::ElementsAre;
using testing::HasSubstr;

TensorSpec Spec(DType dtype, std::vector<int64_t> shape) {
  TensorSpec spec;
  spec.set_name("C");
  spec.set_dtype(dtype);
  for (int64_t extent : shape) spec.add_shape(extent);
  return spec;
}

std::vector<double> Normal(size_t size) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> values(size);
  for (double& value : values) value = normal(random);
  return values;
}

class CompareBf16 : public testing::Test {
 protected:
  Compared Compare(const std::vector<double>& actual) {
    return CompareOutput(spec_, expected_, EncodeDoubles(DTYPE_BFLOAT16, actual), poison_);
  }
  const TensorSpec spec_ = Spec(DTYPE_BFLOAT16, {64, 64});
  const Expected expected_{Normal(64 * 64), {}};
  const std::string poison_ = EncodeDoubles(DTYPE_BFLOAT16, std::vector<double>(64 * 64, 0.77));
};

TEST_F(CompareBf16, AcceptsTheExactResultRounded) {
  const Compared compared = Compare(expected_.values);
  EXPECT_TRUE(compared.passed);
  EXPECT_TRUE(compared.peer_rule_passed);
  EXPECT_EQ(compared.report.wrong(), 0u);
  EXPECT_NEAR(compared.report.relative_rms_error() * 2, compared.report.allowed_relative_rms_error(),
              0.02 * compared.report.allowed_relative_rms_error());
}

TEST_F(CompareBf16, RejectsOneWrongElementAmongThousands) {
  std::vector<double> actual = expected_.values;
  actual[65] += 1;
  const Compared compared = Compare(actual);
  EXPECT_FALSE(compared.passed);
  EXPECT_EQ(compared.report.wrong(), 1u);
  EXPECT_THAT(compared.report.worst_index(), ElementsAre(1, 1));
  EXPECT_DOUBLE_EQ(compared.report.worst_expected(), expected_.values[65]);
}

TEST_F(CompareBf16, TellsTheLargestRelativeErrorWhereverItIs) {
  Expected expected{std::vector<double>(64 * 64, 100), {}};
  expected.values[7] = 0.5;
  std::vector<double> actual = expected.values;
  actual[7] = 0.75;  // relative 0.5, absolute 0.25
  actual[9] = 101;   // relative 0.01, absolute 1
  const Compared compared = CompareOutput(spec_, expected, EncodeDoubles(DTYPE_BFLOAT16, actual), poison_);
  EXPECT_DOUBLE_EQ(compared.report.max_abs_error(), 1);
  EXPECT_DOUBLE_EQ(compared.report.max_relative_error(), 0.25 / (0.5 + 1e-8));
}

TEST_F(CompareBf16, RejectsSmallErrorsEverywhereAndSaysSo) {
  std::vector<double> actual = expected_.values;
  for (size_t i = 0; i < actual.size(); ++i) actual[i] *= i % 2 ? 1.005 : 0.995;
  const Compared compared = Compare(actual);
  EXPECT_FALSE(compared.passed);
  EXPECT_TRUE(compared.peer_rule_passed);  // the peer lets this through
  EXPECT_EQ(compared.report.wrong(), 0u);
  EXPECT_THAT(compared.report.pattern(), HasSubstr("lower precision"));
}

TEST_F(CompareBf16, NanIsNeverAWildcard) {
  std::vector<double> actual = expected_.values;
  actual[7] = NAN;
  const Compared compared = Compare(actual);
  EXPECT_FALSE(compared.passed);
  EXPECT_FALSE(compared.peer_rule_passed);
  EXPECT_EQ(compared.report.non_finite(), 1u);
  EXPECT_THAT(compared.report.worst_index(), ElementsAre(0, 7));
}

TEST_F(CompareBf16, CountsElementsThatStillHoldThePoison) {
  std::vector<double> actual = expected_.values;
  for (size_t i = 4000; i < actual.size(); ++i) actual[i] = 0.77;
  const Compared compared = Compare(actual);
  EXPECT_EQ(compared.report.unwritten(), compared.report.wrong());
  EXPECT_GT(compared.report.unwritten(), 80u);
}

TEST_F(CompareBf16, RejectsZerosConstantsAndCheapApproximations) {
  EXPECT_FALSE(Compare(std::vector<double>(64 * 64, 0.0)).passed);
  EXPECT_FALSE(Compare(std::vector<double>(64 * 64, 1.0)).passed);
  std::vector<double> fp8 = expected_.values;
  for (double& value : fp8) value = RoundTo(DTYPE_FLOAT8_E4M3FN, value);
  EXPECT_FALSE(Compare(fp8).passed);
}

TEST(Compare, ReferenceNoiseWidensTheRule) {
  const TensorSpec spec = Spec(DTYPE_FLOAT32, {1000});
  Expected expected{Normal(1000), {}};
  std::vector<double> actual = expected.values;
  for (size_t i = 0; i < actual.size(); ++i) actual[i] += i % 2 ? 1e-3 : -1e-3;
  EXPECT_FALSE(CompareOutput(spec, expected, EncodeDoubles(DTYPE_FLOAT32, actual), "").passed);
  expected.noise.assign(1000, 1e-3f);
  EXPECT_TRUE(CompareOutput(spec, expected, EncodeDoubles(DTYPE_FLOAT32, actual), "").passed);
}

TEST(Compare, IntegersMustBeEqual) {
  const TensorSpec spec = Spec(DTYPE_INT32, {4});
  const Expected expected{{1, 2, 3, 4}, {}};
  EXPECT_TRUE(CompareOutput(spec, expected, EncodeDoubles(DTYPE_INT32, {1, 2, 3, 4}), "").passed);
  const Compared off = CompareOutput(spec, expected, EncodeDoubles(DTYPE_INT32, {1, 2, 4, 9}), "");
  EXPECT_FALSE(off.passed);
  EXPECT_EQ(off.report.wrong(), 2u);
  EXPECT_THAT(off.report.worst_index(), ElementsAre(3));
}

// 2^53 + 1 is no double.
TEST(Compare, IntegersBeyondTheDoublesMustBeEqualToo) {
  const TensorSpec spec = Spec(DTYPE_INT64, {2});
  const int64_t right[] = {(int64_t{1} << 53) + 1, 7}, wrong[] = {int64_t{1} << 53, 7};
  const absl::string_view right_bytes(reinterpret_cast<const char*>(right), 16);
  const absl::string_view wrong_bytes(reinterpret_cast<const char*>(wrong), 16);
  const Expected expected{DecodeDoubles(DTYPE_INT64, right_bytes), {}, std::string(right_bytes)};
  EXPECT_TRUE(CompareOutput(spec, expected, right_bytes, "").passed);
  const Compared off = CompareOutput(spec, expected, wrong_bytes, "");
  EXPECT_FALSE(off.passed);
  EXPECT_EQ(off.report.wrong(), 1u);
}

TEST(Compare, WhatTheDtypeCannotHoldIsItsInfinity) {
  const TensorSpec spec = Spec(DTYPE_FLOAT16, {3});
  const Expected expected{{70000, -1e6, 1}, {}};
  EXPECT_TRUE(CompareOutput(spec, expected, EncodeDoubles(DTYPE_FLOAT16, {INFINITY, -INFINITY, 1}), "").passed);
  EXPECT_FALSE(CompareOutput(spec, expected, EncodeDoubles(DTYPE_FLOAT16, {65504, -INFINITY, 1}), "").passed);
  EXPECT_FALSE(CompareOutput(spec, expected, EncodeDoubles(DTYPE_FLOAT16, {INFINITY, -INFINITY, INFINITY}), "").passed);
}

TEST(Compare, InfiniteReferenceWantsTheSameInfinity) {
  const TensorSpec spec = Spec(DTYPE_FLOAT32, {2});
  const Expected expected{{-INFINITY, 1}, {}};
  EXPECT_TRUE(CompareOutput(spec, expected, EncodeDoubles(DTYPE_FLOAT32, {-INFINITY, 1}), "").passed);
  EXPECT_FALSE(CompareOutput(spec, expected, EncodeDoubles(DTYPE_FLOAT32, {-1e30, 1}), "").passed);
}

}  // namespace
}  // namespace sassay::judge
