// A device that is only memory: what the judge's tests need, and no more. Shared objects are memfds, as on the emulated
// device.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_TESTING_MEMORY_DEVICE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_TESTING_MEMORY_DEVICE_H_

#include <map>

#include "profiler_service/device/device.h"

namespace sassay::judge {

// Thread-compatible.
class MemoryDevice : public device::Device {
 public:
  MemoryDevice();
  ~MemoryDevice() override;

  const device::DeviceInfo& info() const override { return info_; }
  // "memory", unless a test calls it a GPU.
  void set_kind(const std::string& kind) { info_.kind = kind; }
  absl::StatusOr<device::DeviceAddress> Allocate(uint64_t size_bytes, absl::string_view label) override;
  absl::Status Free(device::DeviceAddress address) override;
  absl::StatusOr<device::SharedMemory> AllocateShared(uint64_t size_bytes) override;
  absl::StatusOr<device::DeviceAddress> MapShared(int fd, uint64_t object_bytes) override;
  absl::Status Write(device::DeviceAddress destination, absl::Span<const char> bytes) override;
  absl::Status Read(absl::Span<char> bytes, device::DeviceAddress source) override;
  absl::Status Copy(device::DeviceAddress destination, device::DeviceAddress source, uint64_t size_bytes) override;
  absl::Status Fill(device::DeviceAddress, uint32_t, uint32_t, uint64_t) override { return Lacks(); }
  absl::Status Poison(device::DeviceAddress destination, uint64_t size_bytes, uint64_t seed) override;
  absl::Status LoadModule(const sassay::v1::Bundle&) override { return Lacks(); }
  absl::StatusOr<device::SymbolRegion> Symbol(absl::string_view) override { return Lacks(); }
  absl::StatusOr<std::array<char, 128>> EncodeTensorMap(const sassay::v1::TensorMap&, device::DeviceAddress) override {
    return Lacks();
  }
  absl::Status Enqueue(const device::Launch&) override { return Lacks(); }
  absl::StatusOr<device::Execution> Synchronize(absl::Time) override { return device::Execution(); }
  absl::StatusOr<sassay::v1::Evidence> CollectEvidence() override { return Lacks(); }
  absl::StatusOr<int> Mark() override { return Lacks(); }
  absl::StatusOr<double> NanosecondsBetween(int, int) override { return Lacks(); }
  absl::Status FlushL2() override { return Lacks(); }

  // How many more objects there is memory for.
  size_t objects_left = 1'000'000;
  // Objects that are alive, for leak checks.
  size_t objects() const { return sizes_.size(); }

 private:
  static absl::Status Lacks() { return absl::UnimplementedError("MemoryDevice is only memory"); }
  absl::Status Check(device::DeviceAddress address, uint64_t size) const;

  device::DeviceInfo info_;
  std::map<device::DeviceAddress, uint64_t> sizes_;
};

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_TESTING_MEMORY_DEVICE_H_
