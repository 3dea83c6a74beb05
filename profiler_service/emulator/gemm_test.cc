// Whole kernels through the Device interface: what nvcc makes of them runs, is right and draws no finding.
#include <cmath>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/testing/emulator_fixture.h"

namespace sassay::emulator {
namespace {

using sassay::worker::RUN_MODE_CHECKED;
using sassay::worker::RUN_MODE_COUNTED;
using sassay::worker::RUN_MODE_PLAIN;

std::vector<uint16_t> RandomBf16(size_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<uint16_t> values(count);
  for (uint16_t& value : values) value = FloatToBf16(uniform(engine));
  return values;
}

float Reference(const std::vector<uint16_t>& a, const std::vector<uint16_t>& b, int k, int m, int n) {
  double sum = 0;
  for (int i = 0; i < k; ++i) {
    sum += double{Bf16ToFloat(a[static_cast<size_t>(m * k + i)])} * Bf16ToFloat(b[static_cast<size_t>(n * k + i)]);
  }
  return static_cast<float>(sum);
}

class GemmTest : public testing::TestWithParam<sassay::worker::RunMode> {
 protected:
  GemmTest() : emulated_(CompiledBundle("gemm"), GetParam()) {}

  static constexpr int kM = 64, kN = 96, kK = 64;
  Emulated emulated_;
  std::vector<uint16_t> a_ = RandomBf16(kM * kK, 1), b_ = RandomBf16(kN * kK, 2);
};

TEST_P(GemmTest, NaiveIsRight) {
  const uint64_t a = emulated_.Upload(a_, "A"), b = emulated_.Upload(b_, "B"), c = emulated_.Allocate(kM * kN * 2, "C");
  const auto execution = emulated_.Run("gemm_naive", {(kN + 15) / 16, (kM + 15) / 16, 1}, {16, 16, 1},
                                       {Bytes(a), Bytes(b), Bytes(c), Bytes(kM), Bytes(kN), Bytes(kK)});
  ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  const auto result = emulated_.Download<uint16_t>(c, kM * kN);
  for (int m = 0; m < kM; ++m) {
    for (int n = 0; n < kN; ++n) {
      ASSERT_NEAR(Bf16ToFloat(result[m * kN + n]), Reference(a_, b_, kK, m, n), 0.05) << m << "," << n;
    }
  }
}

TEST_P(GemmTest, TiledF32IsExact) {
  constexpr int kSize = 64;
  std::vector<float> a(kSize * kSize), b(kSize * kSize);
  for (int i = 0; i < kSize * kSize; ++i) a[i] = static_cast<float>(i % 7 - 3), b[i] = static_cast<float>(i % 5 - 2);
  const uint64_t da = emulated_.Upload(a, "A"), db = emulated_.Upload(b, "B"),
                 dc = emulated_.Allocate(kSize * kSize * 4, "C");
  const auto execution = emulated_.Run("gemm_tiled_f32", {kSize / 16, kSize / 16, 1}, {16, 16, 1},
                                       {Bytes(da), Bytes(db), Bytes(dc), Bytes(kSize)});
  ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
  const auto result = emulated_.Download<float>(dc, kSize * kSize);
  for (int m = 0; m < kSize; ++m) {
    for (int n = 0; n < kSize; ++n) {
      float sum = 0;
      for (int k = 0; k < kSize; ++k) sum += a[m * kSize + k] * b[k * kSize + n];
      ASSERT_EQ(result[m * kSize + n], sum) << m << "," << n;
    }
  }
}

// The tensor-core kernels: f32 results, compared with an fp64 reference.
class TensorCoreTest : public GemmTest {
 protected:
  void Check(const std::string& kernel, int tile, uint32_t threads) {
    const uint64_t a = emulated_.Upload(a_, "A"), b = emulated_.Upload(b_, "B"),
                   c = emulated_.Allocate(kM * kN * 4, "C");
    const auto execution =
        emulated_.Run(kernel, {static_cast<uint32_t>(kN / tile), static_cast<uint32_t>(kM / tile), 1}, {threads, 1, 1},
                      {Bytes(a), Bytes(b), Bytes(c), Bytes(kN), Bytes(kK)});
    ASSERT_EQ(execution.outcome, sassay::worker::RUN_OUTCOME_OK) << execution.message;
    const auto result = emulated_.Download<float>(c, kM * kN);
    for (int m = 0; m < kM; ++m) {
      for (int n = 0; n < kN; ++n) {
        ASSERT_NEAR(result[m * kN + n], Reference(a_, b_, kK, m, n), 1e-5) << m << "," << n;
      }
    }
  }
};

TEST_P(TensorCoreTest, WmmaIsRight) { Check("gemm_wmma", 16, 32); }
TEST_P(TensorCoreTest, DoublyBufferedMmaIsRight) { Check("gemm_mma_async", 32, 64); }

INSTANTIATE_TEST_SUITE_P(Modes, TensorCoreTest, testing::Values(RUN_MODE_PLAIN, RUN_MODE_CHECKED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });
INSTANTIATE_TEST_SUITE_P(Modes, GemmTest, testing::Values(RUN_MODE_PLAIN, RUN_MODE_CHECKED, RUN_MODE_COUNTED),
                         [](const auto& info) { return sassay::worker::RunMode_Name(info.param); });

}  // namespace
}  // namespace sassay::emulator
