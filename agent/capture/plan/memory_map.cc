#include "agent/capture/plan/memory_map.h"

#include "agent/capture/runtime/memory.h"

namespace sassay::capture {
namespace {

uint64_t NumberOf(uint64_t address) { return address >> kOffsetBits; }

uint32_t BufferOf(const Allocation& allocation, int call, bool single_call) {
  switch (allocation.origin) {
    case ORIGIN_TENSOR:
      return kTensors + allocation.index;
    case ORIGIN_SYMBOL:
      return kSymbols + allocation.index;
    default:
      return (allocation.call == call && (call > 1 || single_call) ? kCallAllocations : kSetupAllocations) +
             allocation.index;
  }
}

}  // namespace

const Allocation* MemoryMap::Add(const Allocate& allocate, int call, std::string source_line) {
  if (call < 1 || call > 3 || !IsDevicePointer(allocate.address()) || allocate.index() >> 24 != 0) return nullptr;
  Allocation allocation{allocate.origin(),
                        call,
                        allocate.index(),
                        allocate.address(),
                        allocate.size_bytes(),
                        std::move(source_line),
                        false,
                        ""};
  auto& of_call = allocations_of_call_[call];
  if (allocation.origin == ORIGIN_ALLOCATION) allocation.index = static_cast<uint32_t>(of_call.size());
  const auto [position, added] = by_number_.emplace(NumberOf(allocation.address), std::move(allocation));
  if (!added) return nullptr;
  in_order_.push_back(&position->second);
  if (position->second.origin == ORIGIN_ALLOCATION) of_call.push_back(&position->second);
  return &position->second;
}

bool MemoryMap::Free(uint64_t address, std::string source_line) {
  const auto found = by_number_.find(NumberOf(address));
  if (found == by_number_.end() || found->second.freed) return false;
  found->second.freed = true;
  found->second.freed_at = std::move(source_line);
  return true;
}

const Allocation* MemoryMap::OfCall(int call, uint32_t index) const {
  if (call < 1 || call > 3 || index >= allocations_of_call_[call].size()) return nullptr;
  return allocations_of_call_[call][index];
}

absl::optional<Place> MemoryMap::Find(uint64_t address, int call) const {
  if (!IsDevicePointer(address)) return absl::nullopt;
  const auto found = by_number_.find(NumberOf(address));
  if (found == by_number_.end()) return absl::nullopt;
  const Allocation& allocation = found->second;
  Place place;
  place.allocation = &allocation;
  place.buffer = BufferOf(allocation, call, single_call_);
  place.offset_bytes = address - allocation.address;
  place.outside = address < allocation.address || place.offset_bytes > allocation.size_bytes;
  const bool kept_memory =
      allocation.origin == ORIGIN_SYMBOL || (allocation.origin == ORIGIN_ALLOCATION && allocation.call == 1);
  place.stale = allocation.call != call && !kept_memory;
  return place;
}

}  // namespace sassay::capture
