// Fake device memory: addresses that no host pointer can equal, and that fault when host code touches them.
//
// [63:50] tag of the call that made it · [49:38] allocation, permuted differently in each call · [37:0] offset: 256
// GiB, more than a GPU has. The tag makes an address non-canonical. Permuting ids and offsets keeps differences between
// two pointers from looking alike in two calls, which would hide a cached pointer difference.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_MEMORY_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_MEMORY_H_

#include <cstdint>
#include <map>

#include "agent/capture/runtime/session.h"

namespace sassay::capture {

constexpr uint64_t kFirstTag = 0x1694;  // symbols; call k has kFirstTag + k
constexpr uint64_t kLastTag = kFirstTag + 3;
constexpr uint64_t kAllocationBits = 12;
constexpr uint64_t kOffsetBits = 38;
constexpr uint64_t kTagShift = kAllocationBits + kOffsetBits;
constexpr uint32_t kTensorOrigin = 1, kAllocationOrigin = 2, kSymbolOrigin = 3;

inline bool IsDevicePointer(uint64_t address) {
  return address >> kTagShift >= kFirstTag && address >> kTagShift <= kLastTag;
}
inline bool IsDevicePointer(const void* address) { return IsDevicePointer(reinterpret_cast<uint64_t>(address)); }

struct Region {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  uint32_t origin = 0;
  bool freed = false;
};

// The fake address space of the process. Guarded by Session::mutex.
class AddressSpace {
 public:
  static AddressSpace& Get();

  // Before the tensors of a call are created: those of the call before are no longer there.
  void ForgetTensors() { tensor_bytes_ = 0; }
  // Returns the address and records it; 0 if there is no room ("out of memory").
  uint64_t Create(uint32_t origin, uint32_t index, uint64_t size_bytes, uint64_t stream);
  uint64_t CreateAllocation(uint64_t size_bytes, uint64_t stream);
  // The fake address of a symbol; the same in all calls.
  uint64_t SymbolAddress(SymbolInfo& symbol);
  // nullptr unless `address` lies in (or one past) a region.
  Region* Find(uint64_t address);
  // False if `address` is not the start of a live allocation.
  bool Free(uint64_t address, uint64_t stream);
  // What the candidate holds, and that with the current call's tensors.
  uint64_t allocated_bytes() const { return allocated_bytes_; }
  uint64_t live_bytes() const { return allocated_bytes_ + tensor_bytes_; }

 private:
  std::map<uint64_t, Region> regions_;
  uint64_t counters_[4] = {};
  uint32_t allocations_ = 0;
  uint64_t allocated_bytes_ = 0, tensor_bytes_ = 0;
};

// Ends the capture unless [address, address + bytes) lies in one live region.
void RequireRange(const char* function, const char* what, uint64_t address, uint64_t bytes);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_MEMORY_H_
