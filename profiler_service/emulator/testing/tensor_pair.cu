// tcgen05 with .cta_group::2: a pair of blocks, each with its own image of shared memory and its own part of D.
#include "pair.cuh"

struct Job {
  const uint32_t* image;  // of shared memory: the even block's `words`, then the odd one's
  uint32_t words;
  uint32_t instruction;
  uint64_t a, b;           // descriptors whose start is relative to the image
  const uint32_t* before;  // tensor memory: of each block 128 lanes of `columns` cells
  uint32_t* after;
  uint32_t columns;
  uint32_t accumulate;
  uint32_t issuer;  // the rank of the block that asks
};

namespace {

extern __shared__ __align__(1024) uint32_t image[];

__device__ void Fill(const Job& job, uint32_t base) {
  for (uint32_t i = threadIdx.x; i < job.words; i += blockDim.x) image[i] = job.image[Rank() * job.words + i];
  FenceProxy();
  for (uint32_t c = 0; c < job.columns; ++c) {
    Store(Lanes(base) + c, job.before[(Rank() * 128 + threadIdx.x) * job.columns + c]);
  }
  WaitStore();
  FenceBefore();
}
__device__ void Take(const Job& job, uint32_t base) {
  for (uint32_t c = 0; c < job.columns; ++c) {
    const uint32_t cell = Load(Lanes(base) + c);
    WaitLoad();
    job.after[(Rank() * 128 + threadIdx.x) * job.columns + c] = cell;
  }
  FenceBefore();
}
__device__ uint64_t Start(uint64_t descriptor) { return descriptor + ((Address(image) & 0x3ffff) >> 4); }

}  // namespace

// 128 threads a block. `ISSUE` is what thread 0 of the issuing block does with the operands in place.
#define PAIR_TEST(name, ISSUE)                                        \
  extern "C" __global__ void __cluster_dims__(2) name(Job job) {      \
    __shared__ uint32_t slot;                                         \
    __shared__ uint64_t done;                                         \
    if (threadIdx.x < 32) AllocatePair(&slot, 512), RelinquishPair(); \
    if (threadIdx.x == 0) InitBarrier(&done, 1);                      \
    __syncthreads();                                                  \
    const uint32_t base = slot;                                       \
    Fill(job, base);                                                  \
    ClusterSync();                                                    \
    if (Rank() == job.issuer && threadIdx.x == 0) {                   \
      FenceAfter();                                                   \
      const uint64_t a = Start(job.a), b = Start(job.b);              \
      ISSUE;                                                          \
      CommitPair(&done, 3);                                           \
    }                                                                 \
    WaitBarrier(&done, 0);                                            \
    FenceAfter();                                                     \
    Take(job, base);                                                  \
    ClusterSync();                                                    \
    if (threadIdx.x < 32) FreePair(base, 512);                        \
  }

PAIR_TEST(multiply_f16, MMA2("f16", base, a, b, job.instruction, job.accumulate))
PAIR_TEST(multiply_tf32, MMA2("tf32", base, a, b, job.instruction, job.accumulate))
PAIR_TEST(multiply_f8f6f4, MMA2("f8f6f4", base, a, b, job.instruction, job.accumulate))
PAIR_TEST(multiply_i8, MMA2("i8", base, a, b, job.instruction, job.accumulate))
// A lies in the columns from 256 on.
PAIR_TEST(multiply_from_tensor,
          asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], [%1], %2, %3, "
                       "p; }" ::"r"(base),
                       "r"(base + 256), "l"(b), "r"(job.instruction), "r"(job.accumulate)
                       : "memory");
          (void)a)
#define MASKED(word)                                                                                     \
  asm volatile(                                                                                          \
      "{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::2.kind::f16 [%0], %1, %2, %3, {%5, " \
      "%6, %6, %6, %6, %6, %6, %6}, p; }" ::"r"(base),                                                   \
      "l"(a), "l"(b), "r"(job.instruction), "r"(job.accumulate), "r"(word), "r"(0)                       \
      : "memory")
PAIR_TEST(multiply_masked_by_nothing, MASKED(0))
PAIR_TEST(multiply_masked, MASKED(1))
PAIR_TEST(copy_128x256b, asm volatile("tcgen05.cp.cta_group::2.128x256b [%0], %1;" ::"r"(base + 4), "l"(a)
                                      : "memory");
          (void)b)

// ---- one mistake each ----

// What the issuing thread, or all threads of both blocks, do between allocation and the end.
#define BROKEN_TEST(name, ...)                                       \
  extern "C" __global__ void __cluster_dims__(2) name(Job job) {     \
    __shared__ uint32_t slot;                                        \
    __shared__ uint64_t done;                                        \
    if (threadIdx.x < 32) AllocatePair(&slot, 512);                  \
    if (threadIdx.x == 0) InitBarrier(&done, 1);                     \
    __syncthreads();                                                 \
    const uint32_t base = slot;                                      \
    for (uint32_t i = threadIdx.x; i < job.words; i += blockDim.x) { \
      image[i] = job.image[Rank() * job.words + i];                  \
    }                                                                \
    const bool issuer = Rank() == job.issuer && threadIdx.x == 0;    \
    const uint64_t a = Start(job.a), b = Start(job.b);               \
    __VA_ARGS__;                                                     \
    ClusterSync();                                                   \
    if (threadIdx.x < 32) FreePair(base, 512);                       \
  }
#define ISSUE_ONCE(d) MMA2("f16", d, a, b, job.instruction, job.accumulate)
#define FENCED_ISSUE \
  FenceProxy();      \
  ClusterSync();     \
  if (issuer) ISSUE_ONCE(base)

BROKEN_TEST(read_early, {
  FENCED_ISSUE;
  if (issuer) CommitPair(&done, 3);
  ClusterSync();
  const uint32_t cell = Load(Lanes(base));
  WaitLoad();
  job.after[Rank() * 128 + threadIdx.x] = cell;
  ClusterSync();
  WaitBarrier(&done, 0);
})
// The odd block has not waited for its stores.
BROKEN_TEST(store_not_waited, {
  if (Rank() == 0) Store(Lanes(base), 0), WaitStore();
  if (Rank() == 1) Store(Lanes(base), 0);
  FENCED_ISSUE;
  if (issuer) CommitPair(&done, 3);
  WaitBarrier(&done, 0);
})
BROKEN_TEST(operand_not_fenced, {
  if (Rank() == 0) FenceProxy();
  ClusterSync();
  if (issuer) ISSUE_ONCE(base);
  if (issuer) CommitPair(&done, 3);
  WaitBarrier(&done, 0);
})
BROKEN_TEST(operand_overwritten, {
  FENCED_ISSUE;
  if (issuer) CommitPair(&done, 3);
  ClusterSync();
  if (Rank() == 1 && threadIdx.x == 5) image[5] ^= 1;
  ClusterSync();
  WaitBarrier(&done, 0);
})
// The odd block frees what the even block's product still writes.
BROKEN_TEST(freed_early, {
  FENCED_ISSUE;
  ClusterSync();
  if (Rank() == 1 && threadIdx.x < 32) FreePair(base, 512);
  ClusterSync();
  if (issuer) CommitPair(&done, 3);
  WaitBarrier(&done, 0);
})
BROKEN_TEST(adds_to_leftovers, {
  FenceProxy();
  ClusterSync();
  if (issuer) MMA2("f16", base, a, b, job.instruction, 1);
  if (issuer) CommitPair(&done, 3);
  WaitBarrier(&done, 0);
})
BROKEN_TEST(committed_to_too_many, {
  FENCED_ISSUE;
  if (issuer) CommitPair(&done, 7);
  WaitBarrier(&done, 0);
})
BROKEN_TEST(committed_to_itself_alone, {
  FENCED_ISSUE;
  if (issuer) CommitPair(&done, 1);
  WaitBarrier(&done, 0);
})
BROKEN_TEST(mixed_groups, {
  FenceProxy();
  ClusterSync();
  if (issuer) MMA("f16", base, a, b, job.instruction, job.accumulate);
  if (issuer) CommitPair(&done, 3);
  WaitBarrier(&done, 0);
})

extern "C" __global__ void __cluster_dims__(2) allocated_by_one(uint32_t*) {
  __shared__ uint32_t slot;
  if (Rank() == 0 && threadIdx.x < 32) {
    AllocatePair(&slot, 64);  // LINE allocated_by_one
    FreePair(slot, 64);
  }
  ClusterSync();
}
extern "C" __global__ void __cluster_dims__(2) allocated_unequally(uint32_t*) {
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) AllocatePair(&slot, Rank() == 0 ? 64 : 128);  // LINE allocated_unequally
  ClusterSync();
}
extern "C" __global__ void __cluster_dims__(2) freed_by_one(uint32_t*) {
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) AllocatePair(&slot, 64);  // LINE freed_by_one
  ClusterSync();
  if (Rank() == 0 && threadIdx.x < 32) FreePair(slot, 64);
}
extern "C" __global__ void allocated_without_a_cluster(uint32_t*) {
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) AllocatePair(&slot, 64);  // LINE allocated_without_a_cluster
}
extern "C" __global__ void __cluster_dims__(2) commit_after_the_peer_left(uint32_t*) {
  __shared__ uint32_t slot;
  __shared__ uint64_t done;
  if (threadIdx.x < 32) AllocatePair(&slot, 64);
  if (threadIdx.x == 0) InitBarrier(&done, 1);
  __syncthreads();
  if (threadIdx.x < 32) FreePair(slot, 64);
  if (Rank() == 1) return;
  for (int i = 0; i < 1000; ++i) __nanosleep(1000);
  if (threadIdx.x == 0) CommitPair(&done, 1);  // LINE commit_after_the_peer_left
  WaitBarrier(&done, 0);
}

// Twice, with fewer columns the second time; where they begin.
extern "C" __global__ void __cluster_dims__(2) allocate_twice(uint32_t* out) {
  __shared__ uint32_t first;
  __shared__ uint32_t second;
  AllocatePair(&first, 128);
  AllocatePair(&second, 64);
  RelinquishPair();
  if (threadIdx.x == 0) out[2 * Rank()] = first, out[2 * Rank() + 1] = second;
  FreePair(second, 64);
  FreePair(first, 128);
}

// ---- loads by TMA, in clusters of two pairs ----

struct alignas(64) Map {
  char bytes[128];
};

namespace {

constexpr uint32_t kBox = 256;  // bytes

__device__ uint32_t InBlock(const void* shared, uint32_t rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(Address(shared)), "r"(rank));
  return address;
}
__device__ void Expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(Address(barrier)), "r"(bytes) : "memory");
}
__device__ void Tell(uint64_t* barrier, uint32_t rank) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(InBlock(barrier, rank)) : "memory");
}

}  // namespace

// One block loads for all four; of each pair that block is signalled which is even or odd as the one that asks.
extern "C" __global__ void __cluster_dims__(4)
    load_for_all(const __grid_constant__ Map map, uint32_t issuer, uint16_t* out) {
  __shared__ __align__(128) uint16_t tile[kBox / 2];
  __shared__ uint64_t full;
  __shared__ uint64_t told;
  const bool signalled = Rank() % 2 == issuer % 2;
  if (threadIdx.x == 0) {
    InitBarrier(&full, 1);
    InitBarrier(&told, 1);
    FenceProxy();
    if (signalled) Expect(&full, 2 * kBox);
  }
  ClusterSync();
  if (Rank() == issuer && threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.cta_group:"
        ":2 "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(Address(tile)),
        "l"(&map), "r"(0), "r"(2), "r"(Address(&full)), "h"(static_cast<short>(15))
        : "memory");
  }
  if (signalled && threadIdx.x == 0) {
    WaitBarrier(&full, 0);
    Tell(&told, Rank());
    Tell(&told, Rank() ^ 1);
  }
  WaitBarrier(&told, 0);
  out[Rank() * blockDim.x + threadIdx.x] = tile[threadIdx.x];
  ClusterSync();
}

// The barrier lies in the other pair.
extern "C" __global__ void __cluster_dims__(4)
    load_for_strangers(const __grid_constant__ Map map, uint32_t, uint16_t*) {
  __shared__ __align__(128) uint16_t tile[kBox / 2];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) InitBarrier(&full, 1);
  ClusterSync();
  if (Rank() == 0 && threadIdx.x == 0) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%0], [%1, {%2, "
        "%2}], [%3];" ::"r"(Address(tile)),
        "l"(&map), "r"(0), "r"(InBlock(&full, 2))
        : "memory");
  }
  ClusterSync();
}
