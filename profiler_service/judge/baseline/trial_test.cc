#include "profiler_service/judge/baseline/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "profiler_service/device/cuda/fake_driver.h"
#include "profiler_service/judge/baseline/testing/workloads.h"

namespace sassay::judge {
namespace {

using device::cuda::Driver;
using device::cuda::FakeDriver;
using device::cuda::FakeState;
using ::testing::HasSubstr;

absl::Status Runs(absl::Span<const device::DeviceAddress>, absl::Span<const device::DeviceAddress>, void*) {
  return absl::OkStatus();
}
absl::Status Refuses(absl::Span<const device::DeviceAddress>, absl::Span<const device::DeviceAddress>, void*) {
  return absl::InternalError("not today");
}

TEST(Trial, GivesEachRunTheWorkloadsTensors) {
  const Driver driver = FakeDriver();
  const auto trial = Trial::Create(driver, GemmWorkload(64, 32, 16));
  ASSERT_TRUE(trial.ok()) << trial.status();
  int calls = 0;
  const auto times = (*trial)->Measure({[&](auto inputs, auto outputs, void*) {
    ++calls;
    EXPECT_EQ(inputs.size(), 2u);
    EXPECT_EQ(outputs.size(), 1u);
    return absl::OkStatus();
  }});
  EXPECT_TRUE(times.ok()) << times.status();
  EXPECT_GT(calls, 3);
}

TEST(Trial, WhatRefusesToRunIsNeverTheFastest) {
  const Driver driver = FakeDriver();
  const auto trial = Trial::Create(driver, GemmWorkload(64, 32, 16));
  ASSERT_TRUE(trial.ok()) << trial.status();
  const auto times = (*trial)->Measure({Refuses, Runs});
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_TRUE(std::isinf((*times)[0]));
  EXPECT_TRUE(std::isfinite((*times)[1]));
  EXPECT_EQ((*trial)->Fastest({Refuses, Runs, Refuses}).value(), 1);
  const absl::Status none = (*trial)->Fastest({Refuses, Refuses}).status();
  EXPECT_EQ(none.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(none.message()), HasSubstr("not today"));
}

// Which of the runs below was the last, and how long each takes.
int last_run = 0;
constexpr float kMilliseconds[] = {1.02f, 1.0f, 2.0f};

TEST(Trial, ThoseNearTheFastestAreMeasuredAgainAndLonger) {
  Driver driver = FakeDriver();
  driver.cuEventElapsedTime = [](float* milliseconds, CUevent, CUevent) {
    *milliseconds = kMilliseconds[last_run];
    return CUDA_SUCCESS;
  };
  const auto trial = Trial::Create(driver, GemmWorkload(64, 32, 16));
  ASSERT_TRUE(trial.ok()) << trial.status();
  std::vector<int> calls(3);
  std::vector<Trial::Run> runs;
  for (int i = 0; i < 3; ++i) {
    runs.push_back([&calls, i](auto, auto, void*) {
      last_run = i;
      ++calls[i];
      return absl::OkStatus();
    });
  }
  EXPECT_EQ((*trial)->Fastest(runs).value(), 1);
  EXPECT_GE(calls[1], calls[2] + 7);
  EXPECT_EQ(calls[0], calls[1]);
}

TEST(Trial, MissingMemorySaysHowMuchForWhat) {
  const Driver driver = FakeDriver();
  FakeState().results["cuMemAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  const absl::Status status = Trial::Create(driver, GemmWorkload(64, 32, 16)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(" bytes for "));
}

TEST(Trial, ALostContextIsOurTrouble) {
  const Driver driver = FakeDriver();
  const auto trial = Trial::Create(driver, GemmWorkload(64, 32, 16));
  ASSERT_TRUE(trial.ok()) << trial.status();
  FakeState().results["cuStreamSynchronize"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ((*trial)->Measure({Runs}).status().code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace sassay::judge
