#include "common/toolchain/cuda_drivers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sassay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

google::protobuf::RepeatedPtrField<v1::DeviceCapability> Gpus(
    const std::vector<std::pair<std::string, std::string>>& driver_and_cuda) {
  google::protobuf::RepeatedPtrField<v1::DeviceCapability> devices;
  for (const auto& [driver, cuda] : driver_and_cuda) {
    v1::DeviceCapability& device = *devices.Add();
    device.set_model("NVIDIA H200");
    device.add_archs("sm_90a");
    device.set_driver_version(driver);
    device.set_cuda_version(cuda);
  }
  return devices;
}

TEST(CudaDriversTest, ADriverRunsItsOwnMajorReleaseAndOlderOnes) {
  EXPECT_TRUE(RunsOn("13.0.88", "13.0"));
  EXPECT_TRUE(RunsOn("13.2.1", "13.0")) << "minor releases are compatible";
  EXPECT_TRUE(RunsOn("12.4.131", "13.0"));
  EXPECT_FALSE(RunsOn("13.0.88", "12.8"));
  EXPECT_FALSE(RunsOn("12.8.93", "11.4"));
}

TEST(CudaDriversTest, WhatIsNotKnownStandsInNobodysWay) {
  for (const char* cuda : {"", "unknown"}) EXPECT_TRUE(RunsOn("13.0.88", cuda)) << cuda;
  EXPECT_TRUE(RunsOn("", "12.8"));
  EXPECT_TRUE(RunsOn("my own", "12.8"));
}

TEST(CudaDriversTest, TheTableSaysWhatEachReleaseNeeds) {
  EXPECT_EQ(WhatToolkitNeeds("13.0.88"), "CUDA 13.0, which needs driver 580 or newer");
  EXPECT_EQ(WhatToolkitNeeds("12.8"), "CUDA 12.8, which needs driver 525 or newer");
  EXPECT_EQ(WhatToolkitNeeds("15.1.2"), "CUDA 15.1, which needs a driver of that release");
}

TEST(CudaDriversTest, SkewIsSaidInWordsWithWhatMendsIt) {
  const auto devices = Gpus({{"570.86.10", "12.8"}, {"570.86.10", "12.8"}, {"535.54.03", "12.2"}});
  const absl::Status status = CheckDrivers("13.0.88", "sm_90a", "", devices);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "built with CUDA 13.0, which needs driver 580 or newer; what runs sm_90a there has driver 535.54.03 (CUDA "
            "12.2), driver 570.86.10 (CUDA 12.8). Compile with --cuda 12.8, or have the driver updated.");
}

TEST(CudaDriversTest, OneDeviceThatRunsItIsEnough) {
  EXPECT_TRUE(CheckDrivers("13.0.88", "sm_90a", "", Gpus({{"570.1", "12.8"}, {"580.1", "13.0"}})).ok());
  EXPECT_TRUE(CheckDrivers("13.0.88", "sm_90a", "", Gpus({{"570.1", "12.8"}, {"", ""}})).ok()) << "an older node";
}

TEST(CudaDriversTest, OnlyDevicesThatCouldRunItCount) {
  auto devices = Gpus({{"570.1", "12.8"}});
  EXPECT_TRUE(CheckDrivers("13.0.88", "sm_100a", "", devices).ok()) << "that none has the architecture is another word";
  EXPECT_TRUE(CheckDrivers("13.0.88", "sm_90a", "NVIDIA H100", devices).ok());
  devices.Add()->add_archs("sm_100a");
  devices[1].set_cuda_version("13.0");
  EXPECT_FALSE(CheckDrivers("13.0.88", "sm_90a", "", devices).ok());
}

TEST(CudaDriversTest, ManyDriversAreNotAllNamed) {
  const absl::Status status = CheckDrivers(
      "13.0", "sm_90a", "", Gpus({{"1", "12.1"}, {"2", "12.2"}, {"3", "12.3"}, {"4", "12.4"}, {"5", "12.5"}}));
  EXPECT_THAT(std::string(status.message()), HasSubstr("…"));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("12.4)")));
}

}  // namespace
}  // namespace sassay
