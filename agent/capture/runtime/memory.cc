#include "agent/capture/runtime/memory.h"

#include <string>

namespace sassay::capture {
namespace {

// splitmix64: only has to differ between calls, and be the same in every run.
uint64_t Mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

uint64_t PermutedId(uint64_t space, uint64_t counter) {
  const uint64_t mask = (uint64_t{1} << kAllocationBits) - 1;
  return ((counter * (2 * Mix(space) + 1)) + Mix(space + 100)) & mask;
}

uint64_t RandomOffset(uint64_t space, uint64_t counter, uint64_t size) {
  const uint64_t alignment = uint64_t{1} << 21;  // cudaMalloc's large allocations are aligned to 2 MiB
  const uint64_t room = (uint64_t{1} << kOffsetBits) - size;
  return room < alignment ? 0 : Mix(space << 32 | counter) % (room / alignment) * alignment;
}

}  // namespace

AddressSpace& AddressSpace::Get() {
  static AddressSpace* space = new AddressSpace;
  return *space;
}

uint64_t AddressSpace::Create(uint32_t origin, uint32_t index, uint64_t size_bytes, uint64_t stream) {
  const uint64_t space = origin == kSymbolOrigin ? 0 : static_cast<uint64_t>(Session::Get().call());
  if (size_bytes >= uint64_t{1} << kOffsetBits || counters_[space] >> kAllocationBits != 0) return 0;
  const uint64_t counter = counters_[space]++;
  const uint64_t address = (kFirstTag + space) << kTagShift | PermutedId(space, counter) << kOffsetBits |
                           RandomOffset(space, counter, size_bytes);
  regions_[address] = Region{address, size_bytes, origin, false};
  if (origin == kAllocationOrigin) allocated_bytes_ += size_bytes;
  if (origin == kTensorOrigin) tensor_bytes_ += size_bytes;
  WireWriter allocate;
  allocate.Varint(1, origin);
  allocate.Varint(2, index);
  allocate.Fixed64(3, address);
  allocate.Varint(4, size_bytes);
  allocate.Varint(5, stream);
  Session::Get().Emit(kAllocate, allocate);
  return address;
}

uint64_t AddressSpace::CreateAllocation(uint64_t size_bytes, uint64_t stream) {
  const uint64_t total = Session::Get().task().device_memory_bytes;
  if (size_bytes > total || live_bytes() > total - size_bytes) return 0;
  return Create(kAllocationOrigin, allocations_++, size_bytes, stream);
}

uint64_t AddressSpace::SymbolAddress(SymbolInfo& symbol) {
  if (symbol.address == 0) {
    const auto index = static_cast<uint32_t>(&symbol - Session::Get().task().symbols.data());
    symbol.address = Create(kSymbolOrigin, index, symbol.size_bytes, 0);
  }
  return symbol.address;
}

Region* AddressSpace::Find(uint64_t address) {
  auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return nullptr;
  Region& region = std::prev(after)->second;
  return address - region.address <= region.size_bytes ? &region : nullptr;
}

bool AddressSpace::Free(uint64_t address, uint64_t stream) {
  auto found = regions_.find(address);
  if (found == regions_.end() || found->second.freed || found->second.origin != kAllocationOrigin) return false;
  found->second.freed = true;
  allocated_bytes_ -= found->second.size_bytes;
  WireWriter free;
  free.Fixed64(1, address);
  free.Varint(2, stream);
  Session::Get().Emit(kFree, free);
  return true;
}

void RequireRange(const char* function, const char* what, uint64_t address, uint64_t bytes) {
  const Region* region = AddressSpace::Get().Find(address);
  const std::string head = std::string(function) + ": the " + what;
  if (region == nullptr) {
    Session::Get().Refuse(FindingCode::kPointerOutOfBuffer, head + " is not inside any device buffer of this call");
  }
  if (region->freed) Session::Get().Refuse(FindingCode::kPointerOutOfBuffer, head + " has been freed");
  const uint64_t room = region->size_bytes - (address - region->address);
  if (bytes > room) {
    Session::Get().Refuse(FindingCode::kPointerOutOfBuffer,
                          head + " has " + std::to_string(room) + " bytes left in its buffer of " +
                              std::to_string(region->size_bytes) + ", and " + std::to_string(bytes) + " are asked for");
  }
}

}  // namespace sassay::capture
