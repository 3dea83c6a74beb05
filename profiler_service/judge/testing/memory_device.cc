#include "profiler_service/judge/testing/memory_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/device/poison.h"

namespace sassay::judge {
namespace {

constexpr uint64_t kGranularity = 4096;

char* Host(device::DeviceAddress address) { return reinterpret_cast<char*>(address); }

}  // namespace

MemoryDevice::MemoryDevice() {
  info_.kind = "memory";
  info_.model = "memory only";
}

MemoryDevice::~MemoryDevice() {
  for (const auto& [address, size] : sizes_) munmap(Host(address), size);
}

absl::StatusOr<device::DeviceAddress> MemoryDevice::Allocate(uint64_t size_bytes, absl::string_view) {
  ASSIGN_OR_RETURN(const device::SharedMemory memory, AllocateShared(size_bytes));
  return memory.address;
}

absl::Status MemoryDevice::Free(device::DeviceAddress address) {
  const auto found = sizes_.find(address);
  if (found == sizes_.end()) return absl::InvalidArgumentError("no such object");
  munmap(Host(address), found->second);
  sizes_.erase(found);
  ++objects_left;
  return absl::OkStatus();
}

absl::StatusOr<device::SharedMemory> MemoryDevice::AllocateShared(uint64_t size_bytes) {
  if (objects_left == 0) return absl::ResourceExhaustedError("no memory left");
  --objects_left;
  device::SharedMemory memory;
  memory.object_bytes = (size_bytes + kGranularity - 1) / kGranularity * kGranularity;
  memory.fd.reset(memfd_create("judge-test", MFD_CLOEXEC));
  if (ftruncate(memory.fd.get(), static_cast<off_t>(memory.object_bytes)) != 0) {
    return absl::ResourceExhaustedError("ftruncate");
  }
  ASSIGN_OR_RETURN(memory.address, MapShared(memory.fd.get(), memory.object_bytes));
  return memory;
}

absl::StatusOr<device::DeviceAddress> MemoryDevice::MapShared(int fd, uint64_t object_bytes) {
  void* address = mmap(nullptr, object_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return absl::ResourceExhaustedError("mmap");
  const auto mapped = reinterpret_cast<device::DeviceAddress>(address);
  sizes_[mapped] = object_bytes;
  return mapped;
}

absl::Status MemoryDevice::Check(device::DeviceAddress address, uint64_t size) const {
  auto after = sizes_.upper_bound(address);
  if (after == sizes_.begin()) return absl::InvalidArgumentError("no such address");
  const auto object = std::prev(after);
  if (address - object->first + size > object->second) return absl::InvalidArgumentError("past the end");
  return absl::OkStatus();
}

absl::Status MemoryDevice::Write(device::DeviceAddress destination, absl::Span<const char> bytes) {
  RETURN_IF_ERROR(Check(destination, bytes.size()));
  std::memcpy(Host(destination), bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status MemoryDevice::Read(absl::Span<char> bytes, device::DeviceAddress source) {
  RETURN_IF_ERROR(Check(source, bytes.size()));
  std::memcpy(bytes.data(), Host(source), bytes.size());
  return absl::OkStatus();
}

absl::Status MemoryDevice::Copy(device::DeviceAddress destination, device::DeviceAddress source, uint64_t size_bytes) {
  RETURN_IF_ERROR(Check(destination, size_bytes));
  return Write(destination, absl::MakeConstSpan(Host(source), size_bytes));
}

absl::Status MemoryDevice::Poison(device::DeviceAddress destination, uint64_t size_bytes, uint64_t seed) {
  RETURN_IF_ERROR(Check(destination, size_bytes));
  device::FillPoison(absl::MakeSpan(Host(destination), size_bytes), seed);
  return absl::OkStatus();
}

}  // namespace sassay::judge
