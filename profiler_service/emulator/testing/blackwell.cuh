// One function per tcgen05 instruction. A header, so that a finding's line is the caller's.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_BLACKWELL_CUH_
#define SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_BLACKWELL_CUH_

#include <cstdint>

__device__ inline uint32_t Address(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ inline void Allocate(uint32_t* slot, uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(Address(slot)), "r"(columns)
               : "memory");
}
__device__ inline void Free(uint32_t address, uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns) : "memory");
}
__device__ inline void Relinquish() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
}
__device__ inline void WaitStore() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }
__device__ inline void WaitLoad() { asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory"); }
__device__ inline void FenceBefore() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
__device__ inline void FenceAfter() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }
__device__ inline void Store(uint32_t address, uint32_t value) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(address), "r"(value) : "memory");
}
__device__ inline uint32_t Load(uint32_t address) {
  uint32_t value;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
__device__ inline uint32_t Lanes(uint32_t base) { return base + ((threadIdx.x / 32 % 4 * 32) << 16); }

__device__ inline void InitBarrier(uint64_t* barrier, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(Address(barrier)), "r"(count) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void WaitBarrier(uint64_t* barrier, uint32_t parity) {
  uint32_t over = 0;
  while (over == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "r"(Address(barrier)), "r"(parity)
                 : "memory");
  }
}
__device__ inline void Commit(uint64_t* barrier) {
  asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(Address(barrier))
               : "memory");
}
__device__ inline void FenceProxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

#define MMA(kind, d, a, b, instruction, accumulate)                                         \
  asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::" kind \
               " [%0], %1, %2, %3, p; }" ::"r"(d),                                          \
               "l"(a), "l"(b), "r"(instruction), "r"(accumulate)                            \
               : "memory")

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_TESTING_BLACKWELL_CUH_
