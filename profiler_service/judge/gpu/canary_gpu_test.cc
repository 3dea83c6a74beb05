#include <algorithm>
#include <cstdio>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/judge/gpu/canary.h"
#include "profiler_service/judge/gpu/testing/judge_device.h"

namespace sassay::judge::gpu {
namespace {

class CanaryOnGpu : public JudgeDeviceTest {
 protected:
  static void Print(const char* name, const sassay::v1::CanaryKernel& kernel) {
    std::printf("%s: median %.1f us (%.1f to %.1f), %u launches at %.0f MHz\n", name, kernel.median_ns() / 1e3,
                kernel.min_ns() / 1e3, kernel.max_ns() / 1e3, kernel.launches(), kernel.sm_clock_mhz());
  }

  static void ExpectAbout20Milliseconds(const sassay::v1::CanaryKernel& kernel) {
    EXPECT_GT(kernel.median_ns() * kernel.launches(), 5e6);
    EXPECT_LT(kernel.median_ns() * kernel.launches(), 100e6);
    EXPECT_LE(kernel.min_ns(), kernel.median_ns());
    EXPECT_LE(kernel.median_ns(), kernel.max_ns());
    EXPECT_GT(kernel.sm_clock_mhz(), 200);
  }
};

TEST_F(CanaryOnGpu, BothKernelsAreRightAndTakeAbout20Milliseconds) {
  auto canary = Canary::Create(kernels());
  ASSERT_TRUE(canary.ok()) << canary.status();
  const auto response = (*canary)->Run();
  ASSERT_TRUE(response.ok()) << response.status();
  Print("tensor", response->tensor());
  Print("memory", response->memory());
  ExpectAbout20Milliseconds(response->tensor());
  ExpectAbout20Milliseconds(response->memory());
  EXPECT_GT(response->max_sm_clock_mhz(), 500u);
  EXPECT_LT(response->tensor().sm_clock_mhz(), response->max_sm_clock_mhz() * 1.02);
}

TEST_F(CanaryOnGpu, TheMedianOfOneCanaryIsThatOfTheNext) {
  std::vector<double> tensor, memory;
  for (int i = 0; i < 10; ++i) {
    auto canary = Canary::Create(kernels());
    ASSERT_TRUE(canary.ok()) << canary.status();
    const auto response = (*canary)->Run();
    ASSERT_TRUE(response.ok()) << response.status();
    tensor.push_back(response->tensor().median_ns());
    memory.push_back(response->memory().median_ns());
  }
  for (std::vector<double>* times : {&tensor, &memory}) {
    std::sort(times->begin(), times->end());
    std::printf("%s: fastest %.1f us, median %.1f us, slowest %.1f us\n", times == &tensor ? "tensor" : "memory",
                times->front() / 1e3, (*times)[5] / 1e3, times->back() / 1e3);
    EXPECT_LT((*times)[8], (*times)[1] * 1.015) << "a slow-down of 3 % would not be seen";
  }
}

TEST_F(CanaryOnGpu, AGpuThatComputesWronglyFails) {
  auto canary = Canary::Create(kernels());
  ASSERT_TRUE(canary.ok()) << canary.status();
  const char flipped = '\x5A';
  ASSERT_TRUE(kernels().device().Write((*canary)->memory() + 12345, absl::MakeConstSpan(&flipped, 1)).ok());
  const auto response = (*canary)->Run();
  EXPECT_EQ(response.status().code(), absl::StatusCode::kDataLoss) << response.status();
  EXPECT_THAT(std::string(response.status().message()), testing::HasSubstr("canary's memory kernel added up to"));
}

}  // namespace
}  // namespace sassay::judge::gpu
