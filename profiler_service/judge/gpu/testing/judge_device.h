// For tests alone: the device that a test program was built for, with the judge's kernels on it. The same tests run on
// a GPU and, with small shapes, on the emulated device.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_TESTING_JUDGE_DEVICE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_TESTING_JUDGE_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "profiler_service/device/device.h"
#include "profiler_service/judge/gpu/kernels.h"

namespace sassay::judge::gpu {

// Skips where there is no GPU and the program is for one.
class JudgeDeviceTest : public testing::Test {
 protected:
  void SetUp() override;

  Kernels& kernels() { return *kernels_; }
  std::unique_ptr<Kernels> TakeKernels() { return std::move(kernels_); }
  bool emulated() const { return device_->info().kind == "emulated"; }

  // Memory that is freed with the test.
  device::DeviceAddress Upload(const std::string& bytes);
  device::DeviceAddress Room(uint64_t size_bytes) { return Upload(std::string(size_bytes, '\x5A')); }
  std::string Download(device::DeviceAddress address, uint64_t size_bytes);
  template <typename T>
  std::vector<T> DownloadAs(device::DeviceAddress address, uint64_t count) {
    std::vector<T> values(count);
    const absl::Status fetched = kernels().Fetch(values.data(), count * sizeof(T), address);
    EXPECT_TRUE(fetched.ok()) << fetched;
    return values;
  }

 private:
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<Kernels> kernels_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_TESTING_JUDGE_DEVICE_H_
