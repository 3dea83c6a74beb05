// What a block that is only tried writes to global memory. A trial measures how long a block takes before its turn has
// come; on a GPU it would not have begun yet, so nobody may see anything of it.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_PRIVATE_PAGES_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_PRIVATE_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"

namespace sassay::emulator {

// Pages of host memory, copied when the trial first writes to them; until then it reads what all others see. Pointers
// stay valid until Clear. Thread-compatible: one trial has one.
class PrivatePages {
 public:
  static constexpr size_t kPageBytes = 4096;
  static constexpr size_t kMostPages = 4096;  // 16 MiB

  // Where the trial finds [host, host + bytes), which lies in one mapping. Null where it must end: the range lies on
  // two pages of which one is or becomes a copy, or there are too many copies.
  uint8_t* At(uint8_t* host, uint32_t bytes, bool writes);
  void Clear();

 private:
  using Page = std::unique_ptr<uint8_t[]>;

  uint8_t* Copy(uintptr_t number);

  absl::flat_hash_map<uintptr_t, Page> pages_;
  uintptr_t last_ = 0;            // the page looked up last: a warp's lanes lie side by side
  uint8_t* last_copy_ = nullptr;  // null: there is none
};

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_MEMORY_PRIVATE_PAGES_H_
