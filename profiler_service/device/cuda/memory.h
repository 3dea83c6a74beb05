// Every piece of device memory that one context holds, and who may free it how.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_MEMORY_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_MEMORY_H_

#include <cuda.h>

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "profiler_service/device/cuda/driver.h"
#include "profiler_service/device/device.h"

namespace sassay::device::cuda {

// Allocations of one device's current context: plain ones (cuMemAlloc) and ones that can travel between processes
// (cuMemCreate, exported as POSIX descriptors). Never a legacy IPC handle: those share the whole allocation block.
//
// Thread-compatible; the context must be current. Destruction does not free: the context that is destroyed with the
// device takes its memory along, and after a hang a free would block for ever.
class Memory {
 public:
  Memory(const Driver& driver, CUdevice device) : driver_(driver), device_(device) {}

  // At least one byte, so that every buffer has an address of its own.
  absl::StatusOr<DeviceAddress> Allocate(uint64_t size_bytes, absl::string_view label);
  absl::StatusOr<SharedMemory> AllocateShared(uint64_t size_bytes);
  absl::StatusOr<DeviceAddress> MapShared(int fd, uint64_t object_bytes);
  absl::Status Free(DeviceAddress address);

  // A range that was not allocated here but may be read and written: a symbol of the module.
  void Admit(DeviceAddress address, uint64_t size_bytes) { regions_[address] = {size_bytes, Kind::kSymbol}; }
  // INVALID_ARGUMENT unless [address, address + size_bytes) lies in one region.
  absl::Status CheckRange(DeviceAddress address, uint64_t size_bytes) const;

 private:
  enum class Kind { kPlain, kMapped, kSymbol };
  struct Region {
    uint64_t size_bytes;
    Kind kind;
  };

  absl::StatusOr<DeviceAddress> Map(CUmemGenericAllocationHandle handle, uint64_t object_bytes);
  CUmemAllocationProp Properties() const;

  const Driver& driver_;
  const CUdevice device_;
  std::map<DeviceAddress, Region> regions_;
};

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_MEMORY_H_
