// The judge's own kernels on its device: loading, launching, waiting, and the memory they work on.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_service/device/device.h"
#include "profiler_service/judge/gpu/kernel_arguments.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge::gpu {

// A piece of device memory, freed with its owner. The device must outlive it. Thread-compatible.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(device::Device& device, device::DeviceAddress address, uint64_t size_bytes)
      : device_(&device), address_(address), size_bytes_(size_bytes) {}
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory() { Free(); }

  device::DeviceAddress address() const { return address_; }
  uint64_t size_bytes() const { return size_bytes_; }
  explicit operator bool() const { return device_ != nullptr; }

 private:
  void Free();

  device::Device* device_ = nullptr;
  device::DeviceAddress address_ = 0;
  uint64_t size_bytes_ = 0;
};

// What references allocate for matrices of scores, unless told otherwise.
inline constexpr uint64_t kWorkspaceBytes = uint64_t{6} << 30;

// Extent of a grid.
struct Grid {
  uint64_t x = 1, y = 1, z = 1;
};

// Life cycle: Load once for a context, which then holds no other module. Launches are enqueued and run in order; what
// the host reads afterwards comes from Fetch, which waits. Threads: thread-compatible, as the device. Failure: a kernel
// of ours that faults or hangs is our own trouble, INTERNAL; memory that is not there is RESOURCE_EXHAUSTED.
class Kernels {
 public:
  // The module that the program carries, on a CUDA device.
  static absl::StatusOr<std::unique_ptr<Kernels>> Load(device::Device& device);
  // Another build of the same module: how tests run it on an emulated device.
  static absl::StatusOr<std::unique_ptr<Kernels>> Load(device::Device& device, const sassay::v1::Bundle& module);

  device::Device& device() { return device_; }

  absl::StatusOr<DeviceMemory> Allocate(uint64_t size_bytes, absl::string_view label);
  // A copy of `bytes` on the device.
  absl::StatusOr<DeviceMemory> Upload(absl::string_view bytes, absl::string_view label);

  // `arguments` is the kernel's struct of kernel_arguments.h.
  template <typename Arguments>
  absl::Status Launch(absl::string_view kernel, const Grid& grid, const Arguments& arguments,
                      uint32_t shared_bytes = 0) {
    return LaunchBytes(kernel, grid, std::string(reinterpret_cast<const char*>(&arguments), sizeof(arguments)),
                       shared_bytes);
  }
  // A launch whose threads walk over `count` items.
  template <typename Arguments>
  absl::Status Walk(absl::string_view kernel, uint64_t count, const Arguments& arguments) {
    return Launch(kernel, {WalkBlocks(count)}, arguments);
  }
  // A launch that leaves one partial result per block at arguments.partials, which is set here; waits for it.
  template <typename Partial, typename Arguments>
  absl::StatusOr<std::vector<Partial>> Gather(absl::string_view kernel, uint64_t count, Arguments arguments) {
    arguments.partials = partials_.address();
    static_assert(sizeof(Partial) <= kLargestPartial);
    std::vector<Partial> partials(WalkBlocks(count));
    absl::Status status = Walk(kernel, count, arguments);
    if (status.ok()) status = Fetch(partials.data(), partials.size() * sizeof(Partial), partials_.address());
    if (!status.ok()) return status;
    return partials;
  }

  // Waits for everything launched.
  absl::Status Finish();
  // Waits, then copies from the device.
  absl::Status Fetch(void* to, uint64_t size_bytes, device::DeviceAddress from);

  // What references may allocate at once for matrices of scores; less makes them work in smaller blocks.
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  void set_workspace_bytes(uint64_t bytes) { workspace_bytes_ = bytes; }

  // 65536 floats: the quantiles of inputs.cc.
  device::DeviceAddress normal_table() const { return normal_table_.address(); }
  // Room for one small result.
  device::DeviceAddress scratch() const { return partials_.address(); }

 private:
  static constexpr uint64_t kLargestPartial = 256;

  explicit Kernels(device::Device& device) : device_(device) {}
  static uint64_t WalkBlocks(uint64_t count);
  absl::Status LaunchBytes(absl::string_view kernel, const Grid& grid, std::string arguments, uint32_t shared_bytes);

  device::Device& device_;
  DeviceMemory normal_table_;
  DeviceMemory partials_;
  uint64_t workspace_bytes_ = kWorkspaceBytes;
};

// The kernels' word for a dtype. INVALID_ARGUMENT for one that a judge does not read.
absl::StatusOr<Element> ElementOf(sassay::v1::DType dtype);

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_H_
