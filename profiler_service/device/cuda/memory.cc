#include "profiler_service/device/cuda/memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::device::cuda {

absl::StatusOr<DeviceAddress> Memory::Allocate(uint64_t size_bytes, absl::string_view label) {
  CUdeviceptr address = 0;
  const uint64_t size = std::max<uint64_t>(size_bytes, 1);
  RETURN_IF_ERROR(
      driver_.Check(driver_.cuMemAlloc(&address, size), absl::StrCat("allocating ", size, " bytes for ", label)));
  regions_[address] = {size, Kind::kPlain};
  return address;
}

CUmemAllocationProp Memory::Properties() const {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device_;
  return properties;
}

absl::StatusOr<SharedMemory> Memory::AllocateShared(uint64_t size_bytes) {
  const CUmemAllocationProp properties = Properties();
  size_t granularity = 0;
  RETURN_IF_ERROR(
      driver_.Check(driver_.cuMemGetAllocationGranularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                    "asking for the granularity of shared memory"));
  SharedMemory memory;
  memory.object_bytes = (std::max<uint64_t>(size_bytes, 1) + granularity - 1) / granularity * granularity;
  CUmemGenericAllocationHandle handle = 0;
  RETURN_IF_ERROR(driver_.Check(driver_.cuMemCreate(&handle, memory.object_bytes, &properties, 0),
                                absl::StrCat("allocating ", memory.object_bytes, " shareable bytes")));
  int fd = -1;
  absl::Status exported =
      driver_.Check(driver_.cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                    "exporting shared memory as a descriptor");
  memory.fd.reset(fd);
  absl::StatusOr<DeviceAddress> address = exported.ok() ? Map(handle, memory.object_bytes) : exported;
  driver_.cuMemRelease(handle);
  RETURN_IF_ERROR(address.status());
  memory.address = *address;
  return memory;
}

absl::StatusOr<DeviceAddress> Memory::MapShared(int fd, uint64_t object_bytes) {
  CUmemGenericAllocationHandle handle = 0;
  RETURN_IF_ERROR(
      driver_.Check(driver_.cuMemImportFromShareableHandle(&handle, reinterpret_cast<void*>(static_cast<intptr_t>(fd)),
                                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                    "importing shared memory from a descriptor"));
  absl::StatusOr<DeviceAddress> address = Map(handle, object_bytes);
  driver_.cuMemRelease(handle);
  return address;
}

// The mapping keeps the memory alive; the handle need not.
absl::StatusOr<DeviceAddress> Memory::Map(CUmemGenericAllocationHandle handle, uint64_t object_bytes) {
  CUdeviceptr address = 0;
  RETURN_IF_ERROR(driver_.Check(driver_.cuMemAddressReserve(&address, object_bytes, 0, 0, 0),
                                absl::StrCat("reserving ", object_bytes, " bytes of addresses")));
  absl::Status mapped = driver_.Check(driver_.cuMemMap(address, object_bytes, 0, handle, 0),
                                      absl::StrCat("mapping ", object_bytes, " bytes of shared memory"));
  if (!mapped.ok()) {
    driver_.cuMemAddressFree(address, object_bytes);
    return mapped;
  }
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = device_;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  RETURN_IF_ERROR(driver_.Check(driver_.cuMemSetAccess(address, object_bytes, &access, 1),
                                "giving the GPU access to shared memory"));
  regions_[address] = {object_bytes, Kind::kMapped};
  return address;
}

absl::Status Memory::Free(DeviceAddress address) {
  const auto region = regions_.find(address);
  if (region == regions_.end() || region->second.kind == Kind::kSymbol) {
    return absl::InvalidArgumentError(absl::StrCat("0x", absl::Hex(address), " is not the start of an allocation"));
  }
  const Region freed = region->second;
  regions_.erase(region);
  if (freed.kind == Kind::kPlain) return driver_.Check(driver_.cuMemFree(address), "freeing device memory");
  RETURN_IF_ERROR(driver_.Check(driver_.cuMemUnmap(address, freed.size_bytes), "unmapping shared memory"));
  return driver_.Check(driver_.cuMemAddressFree(address, freed.size_bytes), "freeing addresses of shared memory");
}

absl::Status Memory::CheckRange(DeviceAddress address, uint64_t size_bytes) const {
  auto region = regions_.upper_bound(address);
  if (region != regions_.begin()) {
    --region;
    const uint64_t offset = address - region->first;
    if (offset <= region->second.size_bytes && size_bytes <= region->second.size_bytes - offset) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(size_bytes, " bytes at 0x", absl::Hex(address), " do not lie inside one allocation of this device"));
}

}  // namespace sassay::device::cuda
