// From a fake address in a record to what it means: a tensor, a symbol, or an allocation of one of the calls.
#ifndef SASSAY_AGENT_CAPTURE_PLAN_MEMORY_MAP_H_
#define SASSAY_AGENT_CAPTURE_PLAN_MEMORY_MAP_H_

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "agent/capture/record/record.pb.h"

namespace sassay::capture {

// Buffers before they get their final numbers: the same thing has the same id in every call, so that steps of two calls
// can be compared as messages.
enum BufferSpace : uint32_t {
  kTensors = 0,
  kSymbols = 1u << 24,
  kSetupAllocations = 2u << 24,  // made in the first call
  kCallAllocations = 3u << 24,   // made in the call that uses them
  kClasses = 4u << 24,  // allocations alike in size and source line; for comparing the first call with later ones
};
inline uint32_t SpaceOf(uint32_t id) { return id & 0xFF000000u; }
inline uint32_t IndexOf(uint32_t id) { return id & 0x00FFFFFFu; }

// One piece of fake memory.
struct Allocation {
  Origin origin = ORIGIN_UNSPECIFIED;
  int call = 0;        // 1 to 3
  uint32_t index = 0;  // tensor, symbol, or the how-manieth allocation of its call
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  std::string source_line;
  bool freed = false;
  std::string freed_at;  // source line; empty if it is not known
};

// What an address means in one call.
struct Place {
  uint32_t buffer = 0;  // in the spaces above
  uint64_t offset_bytes = 0;
  const Allocation* allocation = nullptr;
  bool outside = false;  // beyond both ends of its allocation
  bool stale = false;    // a tensor of an earlier call, or memory of an earlier call other than the first
};

// All fake memory of a process. Filled in record order; pointers stay valid.
class MemoryMap {
 public:
  explicit MemoryMap(bool single_call) : single_call_(single_call) {}

  // Null for an address that is taken already (a forged record).
  const Allocation* Add(const Allocate& allocate, int call, std::string source_line);
  // From here on whoever points at `address`'s allocation uses memory after its end. False if it ended already.
  bool Free(uint64_t address, std::string source_line);
  // The `index`-th allocation (ORIGIN_ALLOCATION) of `call`; null if there are fewer.
  const Allocation* OfCall(int call, uint32_t index) const;
  // Nullopt if no allocation has this tag and number.
  absl::optional<Place> Find(uint64_t address, int call) const;

  const std::vector<const Allocation*>& in_order() const { return in_order_; }

 private:
  const bool single_call_;
  std::unordered_map<uint64_t, Allocation> by_number_;
  std::vector<const Allocation*> in_order_;
  std::vector<const Allocation*> allocations_of_call_[4];
};

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_MEMORY_MAP_H_
