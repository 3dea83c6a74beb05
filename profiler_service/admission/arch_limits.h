// What each architecture allows a launch to ask for. From the CUDA programming guide's table of technical
// specifications and, for sm_90, read on an H200 (driver 580).
#ifndef SASSAY_PROFILER_SERVICE_ADMISSION_ARCH_LIMITS_H_
#define SASSAY_PROFILER_SERVICE_ADMISSION_ARCH_LIMITS_H_

#include <cstdint>

#include "common/bundle/cubin.h"

namespace sassay::admission {

// Common to every architecture we know.
inline constexpr uint32_t kMaxGridX = 2147483647;
inline constexpr uint32_t kMaxGridYZ = 65535;
inline constexpr uint32_t kMaxBlockXY = 1024;
inline constexpr uint32_t kMaxBlockZ = 64;
inline constexpr uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr uint32_t kWarpThreads = 32;
// 8 blocks are portable, 16 need the kernel's opt-in, which the runner sets.
inline constexpr uint32_t kMaxClusterBlocks = 16;

struct ArchLimits {
  uint32_t sm = 0;
  uint32_t max_shared_bytes_per_block = 0;  // static and dynamic, with opt-in
  uint32_t shared_bytes_per_multiprocessor = 0;
  uint32_t reserved_shared_bytes_per_block = 0;
  uint32_t threads_per_multiprocessor = 0;
  uint32_t blocks_per_multiprocessor = 0;
  uint32_t registers_per_multiprocessor = 0;
  bool clusters = false;  // thread block clusters, TMA, programmatic dependent launch
};

// Null for an architecture this build does not know.
const ArchLimits* FindArchLimits(uint32_t sm);

// Blocks of `threads` threads with `dynamic_shared_bytes` that one multiprocessor holds at once; 0 if not even one
// fits. Follows NVIDIA's occupancy calculator: registers are given out by 256 a warp and warps by 4.
uint32_t BlocksPerMultiprocessor(const ArchLimits& arch, const CubinKernel& kernel, uint32_t threads,
                                 uint32_t dynamic_shared_bytes);

}  // namespace sassay::admission

#endif  // SASSAY_PROFILER_SERVICE_ADMISSION_ARCH_LIMITS_H_
