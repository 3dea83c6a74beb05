// Gives memory back that only the start needed.
//
// Why: gRPC, libcrypto, protobuf and NVML touch megabytes of their code once. The monitor lives for months beside a
// service that wants the memory.
#ifndef SASSAY_MONITOR_PROGRAM_TRIM_H_
#define SASSAY_MONITOR_PROGRAM_TRIM_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace sassay::monitor {

struct AddressRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;
};

// Executable, never writable mappings of files in the text of /proc/PID/maps: pages that equal the file and come back
// from the page cache when they are used again. Pure.
std::vector<AddressRange> CodeRanges(absl::string_view maps);

// Drops those of this process, and what the heap keeps free. Thread-safe; costs a minor fault for each page that is
// used again.
void TrimMemory();

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_PROGRAM_TRIM_H_
