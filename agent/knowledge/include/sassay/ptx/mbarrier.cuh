// mbarrier: a phase ends when `count` arrivals and all announced bytes have come; then the next begins. Phases count
// from 0, parity = phase % 2. mbarrier_wait(bar, parity) returns once the phase of that parity has ended; on a new
// barrier parity 1 passes at once. Barriers lie in shared memory.
#pragma once

#include "common.cuh"

namespace sassay::ptx {

// One thread inits all barriers, then fence_mbarrier_init(), then __syncthreads() (cluster_sync() in a cluster).
SASSAY_PTX void mbarrier_init(uint64_t* bar, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem_addr(bar)), "r"(count) : "memory");
}
SASSAY_PTX void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
}
SASSAY_PTX void mbarrier_inval(uint64_t* bar) {
  asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(smem_addr(bar)) : "memory");
}

SASSAY_PTX void mbarrier_arrive(uint64_t* bar, uint32_t count = 1) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(smem_addr(bar)), "r"(count) : "memory");
}
// Announces bytes that TMA will bring. The second one also arrives once: the usual way for a producer.
SASSAY_PTX void mbarrier_expect_tx(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(smem_addr(bar)), "r"(bytes) : "memory");
}
SASSAY_PTX void mbarrier_arrive_expect_tx(uint64_t* bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem_addr(bar)), "r"(bytes) : "memory");
}
// On the barrier of block `rank` of the cluster.
SASSAY_PTX void mbarrier_arrive_cluster(uint64_t* bar, uint32_t rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapa(bar, rank)) : "memory");
}
SASSAY_PTX void mbarrier_arrive_expect_tx_cluster(uint64_t* bar, uint32_t rank, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(mapa(bar, rank)),
               "r"(bytes)
               : "memory");
}
// Arrives once this thread's earlier cp_async_16 have landed; counts as one of the barrier's arrivals.
SASSAY_PTX void cp_async_mbarrier_arrive(uint64_t* bar) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(smem_addr(bar)) : "memory");
}

SASSAY_PTX bool mbarrier_test_wait(uint64_t* bar, uint32_t parity) {
  uint32_t over;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(over)
               : "r"(smem_addr(bar)), "r"(parity)
               : "memory");
  return over != 0;
}
// May return false early.
SASSAY_PTX bool mbarrier_try_wait(uint64_t* bar, uint32_t parity) {
  uint32_t over;
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(over)
               : "r"(smem_addr(bar)), "r"(parity)
               : "memory");
  return over != 0;
}
SASSAY_PTX void mbarrier_wait(uint64_t* bar, uint32_t parity) {
  asm volatile(
      "{ .reg .pred p;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again; }" ::"r"(smem_addr(bar)),
      "r"(parity)
      : "memory");
}
// The same where other blocks of the cluster arrive.
SASSAY_PTX void mbarrier_wait_cluster(uint64_t* bar, uint32_t parity) {
  asm volatile(
      "{ .reg .pred p;\n"
      "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra again; }" ::"r"(smem_addr(bar)),
      "r"(parity)
      : "memory");
}

// A place in a ring of stages with barriers full[kStages] and empty[kStages]. The consumer waits for full with
// `parity`, the producer for empty with `parity ^ 1`.
template <int kStages>
struct Ring {
  int stage = 0;
  uint32_t parity = 0;
  SASSAY_PTX void advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

}  // namespace sassay::ptx
