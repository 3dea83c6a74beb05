#include "profiler_service/judge/gpu/testing/judge_device.h"

#include "common/base/files.h"
#include "profiler_service/wire/gpu_nodes.h"

namespace sassay::judge::gpu {
namespace {

absl::StatusOr<std::unique_ptr<Kernels>> LoadOn(device::Device& device) {
  if (device.info().kind != "emulated") return Kernels::Load(device);
  const auto ptx = ReadFile(SASSAY_JUDGE_KERNELS_PTX);
  if (!ptx.ok()) return ptx.status();
  sassay::v1::Bundle module;
  module.set_ptx(*ptx);
  return Kernels::Load(device, module);
}

}  // namespace

void JudgeDeviceTest::SetUp() {
  const std::string specification = SASSAY_JUDGE_TEST_DEVICE;
  if (specification != "emulated:sm_90a" && wire::ListGpuNodes().empty()) GTEST_SKIP() << "no GPU here";
  auto device = device::OpenDevice(specification, sassay::worker::RUN_MODE_PLAIN);
  ASSERT_TRUE(device.ok()) << device.status();
  device_ = *std::move(device);
  auto kernels = LoadOn(*device_);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  kernels_ = *std::move(kernels);
}

device::DeviceAddress JudgeDeviceTest::Upload(const std::string& bytes) {
  auto memory = kernels().Upload(bytes, "test");
  EXPECT_TRUE(memory.ok()) << memory.status();
  if (!memory.ok()) return 0;
  memory_.push_back(*std::move(memory));
  return memory_.back().address();
}

std::string JudgeDeviceTest::Download(device::DeviceAddress address, uint64_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  const absl::Status fetched = kernels().Fetch(bytes.data(), size_bytes, address);
  EXPECT_TRUE(fetched.ok()) << fetched;
  return bytes;
}

}  // namespace sassay::judge::gpu
