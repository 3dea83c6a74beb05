// Host memory that host code hands to kernels. With unified addressing a kernel may read page-locked host memory by its
// own address; a launch plan has no host memory, so such an address would be a stray number in it.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_HOST_MEMORY_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_HOST_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "agent/capture/runtime/launch.h"

namespace sassay::capture {

// Page-locked memory, by the function (a literal) that made it so. Guarded by Session::mutex.
void AddHostMemory(const void* begin, size_t size, const char* function);
void RemoveHostMemory(const void* begin);

// Refuses a parameter that is the address of page-locked memory. Only warns of one inside a larger parameter, and of
// other host memory: a left-over in padding looks the same, and a kernel that follows it is caught where it runs.
void CheckHostMemory(const LaunchRequest& request, size_t parameter, const void* data, size_t size);

// Records where this process has memory: left-over addresses in padding are told from data by it.
void RecordHostRanges();

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_HOST_MEMORY_H_
