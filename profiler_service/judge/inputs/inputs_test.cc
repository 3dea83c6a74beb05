#include "profiler_service/judge/inputs/inputs.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"
#include "profiler_service/judge/inputs/philox.h"
#include "profiler_service/judge/numerics/element.h"

namespace sassay::judge {
namespace {

sassay::v1::TensorSpec Spec(sassay::v1::DType dtype, int64_t rows, int64_t columns) {
  sassay::v1::TensorSpec spec;
  spec.set_dtype(dtype);
  spec.add_shape(rows);
  spec.add_shape(columns);
  return spec;
}

std::vector<double> Values(Distribution distribution, uint64_t seed = 1, uint32_t tensor = 0) {
  const auto spec = Spec(sassay::v1::DTYPE_FLOAT32, 512, 256);
  return DecodeDoubles(spec.dtype(), GenerateTensor(spec, seed, tensor, distribution, 2));
}

double Rms(const std::vector<double>& values) {
  double squares = 0;
  for (double value : values) squares += value * value;
  return std::sqrt(squares / values.size());
}

// Known answers of the Random123 distribution.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_EQ(Philox(0, {0, 0, 0, 0}), (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(~uint64_t{0}, {~0u, ~0u, ~0u, ~0u}), (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Inputs, SameSeedGivesTheSameBytesOnAnyNumberOfThreads) {
  const auto spec = Spec(sassay::v1::DTYPE_BFLOAT16, 1000, 333);
  const std::string one = GenerateTensor(spec, 42, 1, Distribution::kOutliers, 1);
  EXPECT_EQ(one, GenerateTensor(spec, 42, 1, Distribution::kOutliers, 4));
  EXPECT_NE(one, GenerateTensor(spec, 43, 1, Distribution::kOutliers, 1));
  EXPECT_NE(one, GenerateTensor(spec, 42, 2, Distribution::kOutliers, 1));
}

TEST(Inputs, NormalHasUnitVarianceAndNoMean) {
  const std::vector<double> values = Values(Distribution::kNormal);
  double sum = 0;
  for (double value : values) sum += value;
  EXPECT_NEAR(sum / values.size(), 0, 0.02);
  EXPECT_NEAR(Rms(values), 1, 0.02);
}

TEST(Inputs, OutliersAreThereAndSmallIsSmall) {
  const std::vector<double> wide = Values(Distribution::kOutliers);
  EXPECT_GT(*std::max_element(wide.begin(), wide.end()), 15);
  EXPECT_NEAR(Rms(Values(Distribution::kSmall)), 1.0 / 64, 1e-3);
}

TEST(Inputs, StructuredRowsDifferInTheirMeans) {
  const std::vector<double> values = Values(Distribution::kStructured);
  double lowest = 1, highest = -1;
  for (int row = 0; row < 512; ++row) {
    double sum = 0;
    for (int column = 0; column < 256; ++column) sum += values[row * 256 + column];
    lowest = std::min(lowest, sum / 256);
    highest = std::max(highest, sum / 256);
  }
  EXPECT_LT(lowest, -0.8);
  EXPECT_GT(highest, 0.8);
}

TEST(Inputs, DecoysAreUniform) {
  const std::vector<double> values = Values(Distribution::kDecoy);
  EXPECT_GE(*std::min_element(values.begin(), values.end()), -1);
  EXPECT_LT(*std::max_element(values.begin(), values.end()), 1);
  EXPECT_NEAR(Rms(values), 1 / std::sqrt(3.0), 0.01);
}

TEST(Inputs, IntegersStaySmall) {
  const auto spec = Spec(sassay::v1::DTYPE_INT32, 64, 64);
  const std::vector<double> values = DecodeDoubles(spec.dtype(), GenerateTensor(spec, 1, 0, Distribution::kNormal, 1));
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), -8);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 8);
  const std::string indices = GenerateTensor(spec, 1, 0, Distribution::kOutliers, 1, {0, 99'999});
  const std::vector<double> wide = DecodeDoubles(spec.dtype(), indices);
  EXPECT_GE(*std::min_element(wide.begin(), wide.end()), 0);
  EXPECT_GT(*std::max_element(wide.begin(), wide.end()), 90'000);
  EXPECT_LE(*std::max_element(wide.begin(), wide.end()), 99'999);
}

TEST(Inputs, RefusesAnUnknownDistributionNamingTheKnownOnes) {
  EXPECT_EQ(
      ParseDistribution("gamma").status().message(),
      "distribution \"gamma\" is unknown; known are normal, uniform, outliers, integers, small, structured, decoy");
  EXPECT_EQ(*ParseDistribution("decoy"), Distribution::kDecoy);
}

}  // namespace
}  // namespace sassay::judge
