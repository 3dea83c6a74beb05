// The emulated device's global memory: allocations at addresses of our own choosing. Device addresses are never host
// addresses: a kernel can neither learn where the emulator's memory lies nor reach it, because every access is looked
// up here and bounded by the allocation it falls into.
//
// A kernel must not learn from its addresses whether this run is the checked one: what it is given lies at random
// distances, drawn alike in every mode. What no kernel is given (the judge's objects, and its copies beside a checked
// run's own buffers) lies in an arena that kernels do not reach.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_GLOBAL_MEMORY_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_GLOBAL_MEMORY_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/base/fd.h"

namespace sassay::emulator {

// One mapping of host memory, unmapped on destruction.
class HostMapping {
 public:
  HostMapping() = default;
  HostMapping(uint8_t* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  HostMapping(HostMapping&& other) noexcept { *this = std::move(other); }
  HostMapping& operator=(HostMapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HostMapping();
  uint8_t* data() const { return data_; }

 private:
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
};

struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;        // as asked for: what findings speak of
  uint64_t accessible = 0;  // what may be touched: `size` when checked, rounded up to a granule when plain
  uint8_t* host = nullptr;
  uint8_t* unwritten = nullptr;  // one byte per byte, 1: never written; null where everything counts as written
  std::string label;
  bool live = true;
  bool read_only = false;  // stores are refused
  bool input = false;      // stores that change it are findings
  HostMapping memory, shadow;

  bool Contains(uint64_t address, uint64_t bytes) const {
    return address - base <= accessible && bytes <= accessible - (address - base);
  }
};

// Life cycle: grows by Allocate and Map; freed ranges are remembered, so that a later access is a use after free, and
// their addresses are not given out again. Only what no kernel is given is forgotten: the judge allocates for months.
// Threads: changes from one thread at a time; Find from any number while nothing changes.
// Failure: RESOURCE_EXHAUSTED past `limit_bytes`; INVALID_ARGUMENT for ranges outside allocations.
class GlobalMemory {
 public:
  // `exact`: the byte after an allocation is out of bounds, and what was never written is known. Otherwise allocations
  // are rounded up to 512 bytes, as on a GPU.
  GlobalMemory(bool exact, uint64_t limit_bytes);

  absl::StatusOr<uint64_t> Allocate(uint64_t size_bytes, absl::string_view label, bool written = false);
  // A shared memory object and its descriptor. No kernel reaches it by this address.
  absl::StatusOr<uint64_t> AllocateShared(uint64_t size_bytes, UniqueFd& fd);
  // The same object in another process. `exact`: no kernel reaches it.
  absl::StatusOr<uint64_t> MapShared(int fd, uint64_t object_bytes);
  absl::Status Free(uint64_t address);

  // For kernels. The allocation whose range, or guard space behind or before it, holds `address`; freed ones too. Null
  // far from all.
  const Allocation* Nearest(uint64_t address) const;
  // For kernels. The live allocation that contains the whole range, or null.
  const Allocation* Find(uint64_t address, uint64_t bytes) const;

  // For the device's own transfers. Host memory of [address, address + bytes), or INVALID_ARGUMENT saying what lies
  // there.
  absl::StatusOr<uint8_t*> Host(uint64_t address, uint64_t bytes) const;
  // Marks a range as (un)written.
  void Mark(uint64_t address, uint64_t bytes, bool written);
  // What was never written at `source` counts as never written at `destination`.
  void CopyMarks(uint64_t destination, uint64_t source, uint64_t bytes);
  void SetReadOnly(uint64_t address);
  // INVALID_ARGUMENT unless a live allocation begins there.
  absl::Status SetInput(uint64_t address);

  uint64_t allocated_bytes() const { return allocated_bytes_; }

 private:
  struct Arena {
    uint64_t next = 0;
    uint64_t end = 0;
    std::vector<std::unique_ptr<Allocation>> allocations;  // ascending by base

    // How many allocations begin at or before `address`.
    size_t CountUpTo(uint64_t address) const;
    const Allocation* Find(uint64_t address, uint64_t bytes) const;
  };

  absl::StatusOr<uint64_t> Place(Arena& arena, HostMapping memory, uint64_t size_bytes, absl::string_view label,
                                 bool written);
  const Arena& ArenaOf(uint64_t address) const { return address < given_.end ? given_ : own_; }
  uint64_t RandomGap();

  const bool exact_;
  const uint64_t limit_bytes_;
  uint64_t allocated_bytes_ = 0;
  std::mt19937_64 random_;
  Arena given_;  // to kernels
  Arena own_;
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_GLOBAL_MEMORY_H_
