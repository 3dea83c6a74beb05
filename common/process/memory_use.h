// How much memory a process takes, as the kernel counts it.
#ifndef SASSAY_COMMON_PROCESS_MEMORY_USE_H_
#define SASSAY_COMMON_PROCESS_MEMORY_USE_H_

#include <sys/types.h>

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sassay {

// In bytes: a field of /proc/PID/status (proc(5)), "VmRSS" for what is resident now, "VmHWM" for the most that was. 0
// if there is no such process or field.
uint64_t MemoryUse(pid_t pid, absl::string_view field);

}  // namespace sassay

#endif  // SASSAY_COMMON_PROCESS_MEMORY_USE_H_
