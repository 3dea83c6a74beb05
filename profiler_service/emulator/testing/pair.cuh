// One function per tcgen05 instruction of a pair of blocks, and what else they need.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_PAIR_CUH_
#define SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_PAIR_CUH_

#include "blackwell.cuh"

__device__ inline uint32_t Rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ inline void ClusterSync() {
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline void AllocatePair(uint32_t* slot, uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(Address(slot)), "r"(columns)
               : "memory");
}
__device__ inline void FreePair(uint32_t address, uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}
__device__ inline void RelinquishPair() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
}
__device__ inline void CommitPair(uint64_t* barrier, int ranks) {
  asm volatile(
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
          Address(barrier)),
      "h"(static_cast<short>(ranks))
      : "memory");
}

#define MMA2(kind, d, a, b, instruction, accumulate)                                        \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::2.kind::" kind \
               " [%0], %1, %2, %3, p; }" ::"r"(d),                                          \
               "l"(a), "l"(b), "r"(instruction), "r"(accumulate)                            \
               : "memory")

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_PAIR_CUH_
