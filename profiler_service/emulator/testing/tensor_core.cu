// tcgen05.mma of every kind: operands come as an image of shared memory, D goes out as cells of tensor memory.
#include "blackwell.cuh"

struct Job {
  const uint32_t* image;  // of shared memory
  uint32_t words;
  uint32_t instruction;
  uint64_t a, b;           // descriptors whose start is relative to the image
  const uint32_t* before;  // D: 128 lanes of `columns` cells
  uint32_t* after;
  uint32_t columns;
  uint32_t accumulate;
};

namespace {

extern __shared__ __align__(1024) uint32_t image[];

__device__ void FillImage(const Job& job) {
  for (uint32_t i = threadIdx.x; i < job.words; i += blockDim.x) image[i] = job.image[i];
  FenceProxy();
}
__device__ void FillTensor(const Job& job, uint32_t base) {
  for (uint32_t c = 0; c < job.columns; ++c) Store(Lanes(base) + c, job.before[threadIdx.x * job.columns + c]);
  WaitStore();
  FenceBefore();
}
__device__ void TakeTensor(const Job& job, uint32_t base) {
  for (uint32_t c = 0; c < job.columns; ++c) {
    const uint32_t cell = Load(Lanes(base) + c);
    WaitLoad();
    job.after[threadIdx.x * job.columns + c] = cell;
  }
}
__device__ uint64_t Start(uint64_t descriptor) { return descriptor + (Address(image) >> 4); }

}  // namespace

// 128 threads. `ISSUE` is what thread 0 does with the operands in place.
#define PRODUCT_TEST(name, ISSUE)                        \
  extern "C" __global__ void name(Job job) {             \
    __shared__ uint32_t slot;                            \
    __shared__ uint64_t done;                            \
    if (threadIdx.x < 32) Allocate(&slot, 512);          \
    if (threadIdx.x == 0) InitBarrier(&done, 1);         \
    __syncthreads();                                     \
    const uint32_t base = slot;                          \
    FillImage(job);                                      \
    FillTensor(job, base);                               \
    __syncthreads();                                     \
    if (threadIdx.x == 0) {                              \
      FenceAfter();                                      \
      const uint64_t a = Start(job.a), b = Start(job.b); \
      ISSUE;                                             \
      Commit(&done);                                     \
    }                                                    \
    WaitBarrier(&done, 0);                               \
    FenceAfter();                                        \
    TakeTensor(job, base);                               \
    FenceBefore();                                       \
    __syncthreads();                                     \
    if (threadIdx.x < 32) Free(base, 512);               \
  }

PRODUCT_TEST(multiply_f16, MMA("f16", base, a, b, job.instruction, job.accumulate))
PRODUCT_TEST(multiply_tf32, MMA("tf32", base, a, b, job.instruction, job.accumulate))
PRODUCT_TEST(multiply_f8f6f4, MMA("f8f6f4", base, a, b, job.instruction, job.accumulate))
PRODUCT_TEST(multiply_i8, MMA("i8", base, a, b, job.instruction, job.accumulate))
PRODUCT_TEST(multiply_twice, {
  MMA("f16", base, a, b, job.instruction, job.accumulate);
  MMA("f16", base, a, b, job.instruction, 1);
})
// A lies in the columns from 256 on.
PRODUCT_TEST(
    multiply_from_tensor,
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], [%1], %2, %3, "
                 "p; }" ::"r"(base),
                 "r"(base + 256), "l"(b), "r"(job.instruction), "r"(job.accumulate)
                 : "memory");
    (void)a)
// Lanes 32 to 63 and lane 5 stay as they are; the old D counts a quarter.
PRODUCT_TEST(multiply_masked_and_scaled,
             asm volatile("{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, "
                          "{%5, %6, %7, %7}, p, 2; }" ::"r"(base),
                          "l"(a), "l"(b), "r"(job.instruction), "r"(job.accumulate), "r"(32), "r"(-1), "r"(0)
                          : "memory"))

#define COPY(form)                                                                               \
  asm volatile("tcgen05.cp.cta_group::1." form " [%0], %1;" ::"r"(base + 4), "l"(a) : "memory"); \
  (void)b
PRODUCT_TEST(copy_128x256b, COPY("128x256b"))
PRODUCT_TEST(copy_128x128b, COPY("128x128b"))
PRODUCT_TEST(copy_32x128b, COPY("32x128b.warpx4"))

// ---- one mistake each ----

#define MULTICAST(ranks)                                                                                          \
  asm volatile(                                                                                                   \
      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"( \
          Address(&done)),                                                                                        \
      "h"((short)(ranks))                                                                                         \
      : "memory")

#define BROKEN_TEST(name, AFTER_ISSUE)                 \
  extern "C" __global__ void name(Job job) {           \
    __shared__ uint32_t slot;                          \
    __shared__ uint64_t done;                          \
    if (threadIdx.x < 32) Allocate(&slot, 512);        \
    if (threadIdx.x == 0) InitBarrier(&done, 1);       \
    __syncthreads();                                   \
    const uint32_t base = slot;                        \
    const uint32_t mine = Lanes(base);                 \
    FillImage(job);                                    \
    __syncthreads();                                   \
    const uint64_t a = Start(job.a), b = Start(job.b); \
    AFTER_ISSUE;                                       \
    WaitBarrier(&done, 0);                             \
    __syncthreads();                                   \
    if (threadIdx.x < 32) Free(base, 512);             \
  }
#define ISSUE_ONCE(d) MMA("f16", d, a, b, job.instruction, job.accumulate)

BROKEN_TEST(read_early, {
  if (threadIdx.x == 0) ISSUE_ONCE(base);
  if (threadIdx.x == 0) Commit(&done);
  __syncthreads();
  job.after[threadIdx.x] = Load(mine);
  WaitLoad();
})
BROKEN_TEST(store_not_waited, {
  Store(mine + 1, 0);
  __syncthreads();
  if (threadIdx.x == 0) MMA("f16", base, a, b, job.instruction, 1);
  if (threadIdx.x == 0) Commit(&done);
})
BROKEN_TEST(load_not_waited, {
  Store(mine, 0);
  WaitStore();
  const uint32_t cell = Load(mine);
  __syncthreads();
  if (threadIdx.x == 0) ISSUE_ONCE(base);
  if (threadIdx.x == 0) Commit(&done);
  WaitLoad();
  job.after[threadIdx.x] = cell;
})
BROKEN_TEST(overwritten_without_barrier, {
  Store(mine, 0);
  WaitStore();
  if (threadIdx.x == 96) ISSUE_ONCE(base);
  if (threadIdx.x == 96) Commit(&done);
})
BROKEN_TEST(operand_not_fenced, {
  if (threadIdx.x == 5) image[3] ^= 1;
  __syncthreads();
  if (threadIdx.x == 0) ISSUE_ONCE(base);
  if (threadIdx.x == 0) Commit(&done);
})
BROKEN_TEST(operand_overwritten, {
  if (threadIdx.x == 0) ISSUE_ONCE(base);
  if (threadIdx.x == 0) Commit(&done);
  __syncthreads();
  if (threadIdx.x % 32 == 5) image[threadIdx.x / 32] ^= 1;
})
BROKEN_TEST(adds_to_leftovers, {
  if (threadIdx.x == 0) MMA("f16", base, a, b, job.instruction, 1);
  if (threadIdx.x == 0) Commit(&done);
})
BROKEN_TEST(past_the_columns, {
  if (threadIdx.x == 0) ISSUE_ONCE(base + 500);
  if (threadIdx.x == 0) Commit(&done);
})
BROKEN_TEST(odd_lane, {
  if (threadIdx.x == 0) ISSUE_ONCE(base + (32 << 16));
  if (threadIdx.x == 0) Commit(&done);
})
// The waiter frees the columns that another thread's product, which the commit does not cover, still writes.
BROKEN_TEST(committed_by_another, {
  if (threadIdx.x == 32) ISSUE_ONCE(base);
  __syncthreads();
  if (threadIdx.x == 0) Commit(&done);
})
BROKEN_TEST(committed_to_the_cluster, {
  if (threadIdx.x == 0) ISSUE_ONCE(base);
  if (threadIdx.x == 0) MULTICAST(1);
})
BROKEN_TEST(committed_to_nobody, {
  if (threadIdx.x == 0) ISSUE_ONCE(base);
  if (threadIdx.x == 0) MULTICAST(3);
})
