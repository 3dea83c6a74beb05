#include "profiler_service/judge/gpu/compare.h"

#include <cmath>
#include <functional>
#include <random>

#include "common/workload/definition.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/device/poison.h"
#include "profiler_service/judge/gpu/testing/judge_device.h"
#include "profiler_service/judge/numerics/element.h"

namespace sassay::judge::gpu {
namespace {

using testing::HasSubstr;

constexpr uint64_t kPoisonSeed = 77;

// One output, what it should be, and a change that is planted in it.
class CompareTest : public JudgeDeviceTest {
 protected:
  using Change = std::function<double(const std::vector<double>& expected, size_t i)>;

  void Prepare(sassay::v1::DType dtype, std::vector<int64_t> shape) {
    spec_.Clear();
    spec_.set_name("C");
    spec_.set_dtype(dtype);
    for (int64_t extent : shape) spec_.add_shape(extent);
    std::mt19937 random(11);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<float> noise(1e-4F, 1e-2F);
    const uint64_t count = ElementCount(spec_);
    expected_ = Expected();
    for (uint64_t i = 0; i < count; ++i) {
      // What a device keeps of a small output is fp32; both sides then have the same numbers.
      const double value = normal(random) * (IsFloating(dtype) ? 1 : 40);
      expected_.values.push_back(IsFloating(dtype) ? static_cast<double>(static_cast<float>(value))
                                                   : std::round(value));
      if (IsFloating(dtype)) expected_.noise.push_back(noise(random));
    }
    if (!IsFloating(dtype)) expected_.exact = EncodeDoubles(dtype, expected_.values);
    poison_.assign(TensorBytes(spec_), '\0');
    device::FillPoison(absl::MakeSpan(poison_.data(), poison_.size()), kPoisonSeed);
  }

  ExpectedOutput Uploaded() {
    ExpectedOutput expected;
    expected.values_element = ValuesElement(*ElementOf(spec_.dtype()));
    const bool single = expected.values_element == Element::kFloat32;
    const std::string values =
        EncodeDoubles(single ? sassay::v1::DTYPE_FLOAT32 : sassay::v1::DTYPE_FLOAT64, expected_.values);
    expected.values = *kernels().Upload(values, "values");
    if (!expected_.noise.empty()) {
      const absl::string_view noise(reinterpret_cast<const char*>(expected_.noise.data()),
                                    expected_.noise.size() * sizeof(float));
      expected.noise = *kernels().Upload(noise, "noise");
    }
    if (!expected_.exact.empty()) expected.exact = *kernels().Upload(expected_.exact, "exact");
    return expected;
  }

  std::string Changed(const Change& change) const {
    std::vector<double> values(expected_.values.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = change(expected_.values, i);
    return EncodeDoubles(spec_.dtype(), values);
  }

  // Both comparisons; fails unless they agree in everything but the last digits of sums.
  Compared Both(const std::string& actual, const Tolerance& tolerance = {}) {
    const ExpectedOutput expected = Uploaded();
    const Compared want = judge::CompareOutput(spec_, expected_, actual, poison_, tolerance);
    const auto got = CompareOutput(kernels(), spec_, expected, Upload(actual), kPoisonSeed, tolerance);
    EXPECT_TRUE(got.ok()) << got.status();
    if (!got.ok()) return want;
    EXPECT_EQ(got->passed, want.passed);
    EXPECT_EQ(got->peer_rule_passed, want.peer_rule_passed);
    ExpectSame(got->report, want.report);
    return *got;
  }

  void ExpectSame(sassay::v1::OutputComparison got, sassay::v1::OutputComparison want) {
    for (auto* report : {&got, &want}) {
      const double error = report->relative_rms_error(), allowed = report->allowed_relative_rms_error();
      report->set_relative_rms_error(std::isfinite(error) ? std::round(error * 1e9) : error);
      report->set_allowed_relative_rms_error(std::round(allowed * 1e9));
    }
    EXPECT_EQ(got.DebugString(), want.DebugString());
  }

  sassay::v1::TensorSpec spec_;
  Expected expected_;
  std::string poison_;
};

TEST_F(CompareTest, WhatIsRightPassesAlike) {
  for (sassay::v1::DType dtype : {sassay::v1::DTYPE_BFLOAT16, sassay::v1::DTYPE_FLOAT32, sassay::v1::DTYPE_FLOAT16,
                                  sassay::v1::DTYPE_FLOAT64, sassay::v1::DTYPE_FLOAT8_E4M3FN,
                                  sassay::v1::DTYPE_FLOAT8_E5M2, sassay::v1::DTYPE_INT32, sassay::v1::DTYPE_BOOL}) {
    Prepare(dtype, {33, 50});
    EXPECT_TRUE(Both(Changed([](auto& e, size_t i) { return e[i]; })).passed || dtype == sassay::v1::DTYPE_BOOL)
        << DTypeName(dtype);
  }
}

TEST_F(CompareTest, PlantedErrorsGetTheSameWords) {
  struct Planted {
    const char* words;
    Change change;
  };
  const Planted kPlanted[] = {
      {"look transposed", [](auto& e, size_t i) { return e[i / 4096 * 4096 + i % 64 * 64 + i % 4096 / 64]; }},
      {"row >= 48", [](auto& e, size_t i) { return i % 4096 / 64 >= 48 ? 0.0 : e[i]; }},
      {"single element", [](auto& e, size_t i) { return i == 4999 ? e[i] + 3 : e[i]; }},
      {"NaN", [](auto& e, size_t i) { return i % 64 == 5 ? NAN : e[i]; }},
      {"", [](auto& e, size_t i) { return i % 997 == 5 ? HUGE_VAL : e[i]; }},
      {"x 8 (missing scale 1/sqrt(64))", [](auto& e, size_t i) { return 8 * e[i]; }},
      {"wrong sign", [](auto& e, size_t i) { return -e[i]; }},
      {"actual = expected + 3", [](auto& e, size_t i) { return e[i] + 3; }},
      {"shifted by one row", [](auto& e, size_t i) { return i >= 64 ? e[i - 64] : 0; }},
      {"shifted by one column", [](auto& e, size_t i) { return i + 1 < e.size() ? e[i + 1] : 0; }},
      {"constant 0.5", [](auto& e, size_t) { return 0.5; }},
      {"zero", [](auto& e, size_t) { return 0.0; }},
      {"head = 1", [](auto& e, size_t i) { return i / 4096 == 1 ? e[i] + e[i] * e[i] : e[i]; }},
      {"column > row", [](auto& e, size_t i) { return i % 64 > i % 4096 / 64 ? e[i] + e[i] * e[i] : e[i]; }},
      {"column % 16 == 15", [](auto& e, size_t i) { return i % 16 == 15 ? e[i] + 1 + e[i] * e[i] : e[i]; }},
      {"no relation", [](auto& e, size_t i) { return e[(i * 797 + 5) % e.size()]; }},
      {"follows expected", [](auto& e, size_t i) { return 3 * e[i] + e[(i * 797 + 5) % e.size()]; }},
      {"errors are small but everywhere", [](auto& e, size_t i) { return e[i] + 0.02 * std::sin(i * 1.7); }},
  };
  Prepare(sassay::v1::DTYPE_BFLOAT16, {1, 2, 64, 64});
  for (const Planted& planted : kPlanted) {
    const Compared compared = Both(Changed(planted.change));
    EXPECT_FALSE(compared.passed) << planted.words;
    EXPECT_THAT(compared.report.pattern(), HasSubstr(planted.words));
  }
}

TEST_F(CompareTest, WhatWasNeverWrittenIsCountedAlike) {
  Prepare(sassay::v1::DTYPE_BFLOAT16, {96, 40});
  std::string actual = Changed([](auto& e, size_t i) { return e[i]; });
  actual.replace(1000, 3000, poison_, 1000, 3000);
  EXPECT_GT(Both(actual).report.unwritten(), 1400);
  EXPECT_EQ(Both(poison_).report.unwritten(), Both(poison_).report.wrong());
}

TEST_F(CompareTest, ValuesPastTheTypesRangeAreThatInfinity) {
  Prepare(sassay::v1::DTYPE_FLOAT16, {8, 8});
  expected_.values[5] = 70000;
  expected_.values[6] = -65519;
  expected_.values[7] = HUGE_VAL;
  expected_.values[8] = NAN;
  EXPECT_TRUE(Both(Changed([](auto& e, size_t i) { return e[i]; })).passed);
  EXPECT_FALSE(Both(Changed([](auto& e, size_t i) { return i == 5 ? 60000 : e[i]; })).passed);
  EXPECT_FALSE(Both(Changed([](auto& e, size_t i) { return i == 8 ? 1 : e[i]; })).passed);
}

TEST_F(CompareTest, IntegersThatOneDoubleCannotTellApartDiffer) {
  Prepare(sassay::v1::DTYPE_INT64, {16});
  const int64_t large = (int64_t{1} << 60) + 1;
  std::string actual = expected_.exact;
  std::memcpy(expected_.exact.data() + 24, &large, 8);
  expected_.values[3] = static_cast<double>(large);
  const int64_t beside = large - 1;
  std::memcpy(actual.data() + 24, &beside, 8);
  EXPECT_EQ(Both(actual).report.wrong(), 1);
  std::memcpy(actual.data() + 24, &large, 8);
  EXPECT_TRUE(Both(actual).passed);
}

TEST_F(CompareTest, ATolerancesOwnMultiplesDecideAlike) {
  Prepare(sassay::v1::DTYPE_FLOAT32, {50, 30});
  const std::string actual = Changed([](auto& e, size_t i) { return e[i] + 0.02 * std::sin(i * 1.7); });
  EXPECT_FALSE(Both(actual).passed);
  EXPECT_TRUE(Both(actual, {50, 500}).passed);
}

TEST_F(CompareTest, TheNoiseRatioIsOneWhereErrorsAreTheNoise) {
  Prepare(sassay::v1::DTYPE_FLOAT32, {64, 64});
  const std::string actual =
      Changed([this](auto& e, size_t i) { return e[i] + (i % 2 == 0 ? 1 : -1) * double{expected_.noise[i]}; });
  const ExpectedOutput expected = Uploaded();
  EXPECT_NEAR(*NoiseRatio(kernels(), spec_, expected, Upload(actual)), 1, 1e-3);
}

}  // namespace
}  // namespace sassay::judge::gpu
