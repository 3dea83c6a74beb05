// What we make of the driver's errors, without a GPU.
#include <gtest/gtest.h>

#include <memory>

#include "absl/time/clock.h"
#include "common/base/steady_time.h"
#include "google/protobuf/text_format.h"
#include "profiler_service/device/cuda/cuda_device.h"
#include "profiler_service/device/cuda/fake_driver.h"
#include "profiler_service/runner/replay.h"

namespace sassay::runner {
namespace {

using device::Device;
using device::Execution;
using device::cuda::CudaDevice;
using device::cuda::Driver;
using device::cuda::FakeDriver;
using device::cuda::FakeDriverState;
using device::cuda::FakeState;

absl::Time Soon() { return absl::Now() + absl::Seconds(20); }

class DriverErrorsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto device = CudaDevice::OpenWith(driver_, "0");
    ASSERT_TRUE(device.ok()) << device.status();
    device_ = *std::move(device);
  }

  // A runner's life with one call of `steady`, in `mode`.
  absl::StatusOr<Execution> Call(const std::string& steady, worker::RunMode mode) {
    v1::Bundle bundle;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "buffers { kind: BUFFER_KIND_CALL_ALLOCATION size_bytes: 24 }" + steady, bundle.add_plans()));
    Replay replay(*device_, mode);
    EXPECT_TRUE(replay.Load(bundle).ok());
    EXPECT_TRUE(replay.Bind({}, {}).ok());
    const auto setup = replay.Setup(1, Soon());
    EXPECT_TRUE(setup.ok()) << setup.status();
    return replay.Steady(1, Soon());
  }

  const Driver driver_ = FakeDriver();
  std::unique_ptr<Device> device_;
};

TEST_F(DriverErrorsTest, AContextThatIsLostIsNotUsable) {
  EXPECT_TRUE(device_->usable());
  FakeState().results = {{"cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY}};
  EXPECT_FALSE(device_->Allocate(16, "test").ok());
  EXPECT_TRUE(device_->usable());
  // Of a library's own kernel, for instance: nothing came through the device.
  FakeState().results = {{"cuStreamQuery", CUDA_ERROR_ILLEGAL_ADDRESS}};
  EXPECT_FALSE(device_->usable());
}

TEST_F(DriverErrorsTest, WhatWasWaitedForInVainIsGivenUp) {
  FakeState().results = {{"cuStreamQuery", CUDA_ERROR_NOT_READY}};
  EXPECT_TRUE(device_->usable());  // busy
  const auto execution = device_->Synchronize(SteadyNow());
  ASSERT_TRUE(execution.ok()) << execution.status();
  EXPECT_EQ(execution->outcome, worker::RUN_OUTCOME_TIMEOUT);
  FakeState().results.clear();
  EXPECT_FALSE(device_->usable());
}

constexpr char kFaults[] = "steady { launch { kernel: 'faults' grid { x: 1 y: 1 z: 1 } block { x: 1 y: 1 z: 1 } } }";

TEST_F(DriverErrorsTest, AFaultIsTheKernelsWhateverThePlanDoesAfterTheLaunch) {
  const struct {
    const char* step;
    worker::RunMode mode;
  } later[] = {
      {"", worker::RUN_MODE_PLAIN},
      {"steady { upload { destination { buffer: 0 } bytes { data: 'abcd' } } }", worker::RUN_MODE_PLAIN},
      {"steady { memset { destination { buffer: 0 } width_elements: 8 element_bytes: 1 } }", worker::RUN_MODE_PLAIN},
      {"steady { allocate { buffer: 0 } }", worker::RUN_MODE_CHECKED},
  };
  for (const auto& row : later) {
    FakeState() = FakeDriverState();
    SetUp();
    const auto execution = Call(std::string(kFaults) + row.step, row.mode);
    ASSERT_TRUE(execution.ok()) << row.step << ": " << execution.status();
    EXPECT_EQ(execution->outcome, worker::RUN_OUTCOME_FAULT) << row.step;
    EXPECT_EQ(execution->code, v1::VERDICT_CODE_ILLEGAL_ADDRESS) << row.step;
  }
}

TEST_F(DriverErrorsTest, InvalidValuesOfOurOwnCallsAreOurOwnTrouble) {
  for (const char* call : {"cuMemImportFromShareableHandle", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"}) {
    FakeState().results = {{call, CUDA_ERROR_INVALID_VALUE}};
    EXPECT_EQ(device_->MapShared(0, 4096).status().code(), absl::StatusCode::kInternal) << call;
  }
  FakeState().results = {{"cuMemAlloc", CUDA_ERROR_INVALID_VALUE}};
  EXPECT_EQ(device_->Allocate(24, "workspace 0").status().code(), absl::StatusCode::kInternal);
}

TEST_F(DriverErrorsTest, InvalidValuesOfTheCandidatesAreRefusals) {
  FakeState().results = {{"cuModuleLoadDataEx", CUDA_ERROR_INVALID_IMAGE}};
  EXPECT_EQ(device_->LoadModule({}).code(), absl::StatusCode::kInvalidArgument);
  FakeState().results = {{"cuTensorMapEncodeTiled", CUDA_ERROR_INVALID_VALUE}};
  v1::TensorMap map;
  map.add_global_dim(7);
  EXPECT_EQ(device_->EncodeTensorMap(map, 16).status().code(), absl::StatusCode::kInvalidArgument);
  // Our own poison kernel is launched before.
  EXPECT_EQ(Call("steady { launch { kernel: 'refused' grid { x: 1 y: 1 z: 1 } block { x: 9999 y: 1 z: 1 } } }",
                 worker::RUN_MODE_PLAIN)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sassay::runner
