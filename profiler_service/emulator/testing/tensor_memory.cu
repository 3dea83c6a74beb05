// tcgen05.alloc, dealloc, ld, st and wait, as the tests of tensor memory need them.
#include "blackwell.cuh"

namespace {

// All threads: `columns` columns that every warp has filled with lane << 16 | column.
__device__ uint32_t Filled(uint32_t columns) {
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) Allocate(&slot, columns);
  __syncthreads();
  const uint32_t base = slot;
  for (uint32_t c = 0; c < columns; ++c) Store(Lanes(base) + c, threadIdx.x << 16 | c);
  WaitStore();
  return base;
}

}  // namespace

#define EIGHT(v) "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]), "=r"(v[4]), "=r"(v[5]), "=r"(v[6]), "=r"(v[7])
#define EIGHT_IN(v) "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "r"(v[4]), "r"(v[5]), "r"(v[6]), "r"(v[7])

// Every thread's eight registers of a load from its warp's lanes plus `lane`.
#define LOAD_TEST(name, form, rest)                                                                     \
  extern "C" __global__ void name(uint32_t* out, uint32_t lane) {                                       \
    const uint32_t base = Filled(32);                                                                   \
    uint32_t v[8];                                                                                      \
    asm volatile("tcgen05.ld.sync.aligned." form ".b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8]" rest ";" \
                 : EIGHT(v)                                                                             \
                 : "r"(Lanes(base) + (lane << 16))                                                      \
                 : "memory");                                                                           \
    WaitLoad();                                                                                         \
    for (int r = 0; r < 8; ++r) out[threadIdx.x * 8 + r] = v[r];                                        \
    __syncthreads();                                                                                    \
    if (threadIdx.x < 32) Free(base, 32);                                                               \
  }
LOAD_TEST(load_32x32b, "32x32b.x8", "")
LOAD_TEST(load_16x64b, "16x64b.x8", "")
LOAD_TEST(load_16x128b, "16x128b.x4", "")
LOAD_TEST(load_16x256b, "16x256b.x2", "")
LOAD_TEST(load_16x32bx2, "16x32bx2.x8", ", 16")
LOAD_TEST(load_32x32b_pack, "32x32b.x8.pack::16b", "")
LOAD_TEST(load_16x64b_pack, "16x64b.x8.pack::16b", "")

// Every thread stores thread << 8 | register; then the cells of its warp's lanes, 32 columns a thread.
#define STORE_TEST(name, form, rest)                                                                                   \
  extern "C" __global__ void name(uint32_t* out, uint32_t lane) {                                                      \
    const uint32_t base = Filled(32);                                                                                  \
    uint32_t v[8];                                                                                                     \
    for (int r = 0; r < 8; ++r) v[r] = 0x80008000u | threadIdx.x << 20 | r;                                            \
    asm volatile("tcgen05.st.sync.aligned." form ".b32 [%8]" rest ", {%0, %1, %2, %3, %4, %5, %6, %7};" ::EIGHT_IN(v), \
                 "r"(Lanes(base) + (lane << 16))                                                                       \
                 : "memory");                                                                                          \
    WaitStore();                                                                                                       \
    for (uint32_t c = 0; c < 32; ++c) {                                                                                \
      const uint32_t cell = Load(Lanes(base) + c);                                                                     \
      WaitLoad();                                                                                                      \
      out[threadIdx.x * 32 + c] = cell;                                                                                \
    }                                                                                                                  \
    __syncthreads();                                                                                                   \
    if (threadIdx.x < 32) Free(base, 32);                                                                              \
  }
STORE_TEST(store_32x32b, "32x32b.x8", "")
STORE_TEST(store_16x64b, "16x64b.x8", "")
STORE_TEST(store_16x128b, "16x128b.x4", "")
STORE_TEST(store_16x256b, "16x256b.x2", "")
STORE_TEST(store_16x32bx2, "16x32bx2.x8", ", 16")
STORE_TEST(store_32x32b_unpack, "32x32b.x8.unpack::16b", "")

// Two allocations, the first freed, a third: their columns.
extern "C" __global__ void allocate_three(uint32_t* out, uint32_t) {
  __shared__ uint32_t slot[3];
  Allocate(&slot[0], 256);
  Allocate(&slot[1], 128);
  Free(slot[0], 256);
  Allocate(&slot[2], 64);
  Relinquish();
  if (threadIdx.x < 3) out[threadIdx.x] = slot[threadIdx.x];
  Free(slot[1], 128);
  Free(slot[2], 64);
}

// The second warp waits for the columns that the first one holds, if they are freed.
extern "C" __global__ void contend(uint32_t* out, int frees) {
  __shared__ uint32_t slot[2];
  if (threadIdx.x < 32) Allocate(&slot[0], 512);
  __syncthreads();
  if (threadIdx.x >= 32) {
    Allocate(&slot[1], 512);  // LINE contend
    Free(slot[1], 512);
    out[threadIdx.x - 32] = 1;
  } else if (frees != 0) {
    Free(slot[0], 512);
  }
}

// ---- one mistake each ----

extern "C" __global__ void leak(uint32_t* out) {
  __shared__ uint32_t slot;
  Allocate(&slot, 64);  // LINE leak
  out[threadIdx.x] = slot;
}
extern "C" __global__ void double_free(uint32_t* out) {
  __shared__ uint32_t slot;
  Allocate(&slot, 64);
  out[threadIdx.x] = slot;
  Free(slot, 64);
  Free(slot, 64);  // LINE double_free
}
extern "C" __global__ void odd_columns(uint32_t* out) {
  __shared__ uint32_t slot;
  slot = 0;
  Allocate(&slot, 96);  // LINE odd_columns
  out[threadIdx.x] = slot;
}
extern "C" __global__ void late_allocation(uint32_t* out) {
  __shared__ uint32_t slot;
  slot = 0;
  Relinquish();
  Allocate(&slot, 64);  // LINE late_allocation
  out[threadIdx.x] = slot;
}
extern "C" __global__ void growing_allocation(uint32_t* out) {
  __shared__ uint32_t slot[2];
  slot[1] = 0;
  Allocate(&slot[0], 64);
  Allocate(&slot[1], 128);  // LINE growing_allocation
  out[threadIdx.x] = slot[1];
  Free(slot[0], 64);
}
extern "C" __global__ void others_lanes(uint32_t* out) {
  const uint32_t base = Filled(32);
  const uint32_t value = Load(base);  // LINE others_lanes
  WaitLoad();
  out[threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.x < 32) Free(base, 32);
}
extern "C" __global__ void past_the_allocation(uint32_t* out) {
  const uint32_t base = Filled(32);
  Store(Lanes(base) + 32, 7);  // LINE past_the_allocation
  WaitStore();
  out[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x < 32) Free(base, 32);
}
extern "C" __global__ void unwritten(uint32_t* out) {
  __shared__ uint32_t slot;
  Allocate(&slot, 64);
  const uint32_t value = Load(slot + 3);  // LINE unwritten
  WaitLoad();
  out[threadIdx.x] = value;
  Free(slot, 64);
}
extern "C" __global__ void free_by_another_count(uint32_t* out) {
  const uint32_t base = Filled(64);
  out[threadIdx.x] = base;
  __syncthreads();
  if (threadIdx.x < 32) Free(base, 32);  // LINE free_by_another_count
}
extern "C" __global__ void used_before_wait(uint32_t* out) {
  const uint32_t base = Filled(32);
  const uint32_t value = Load(Lanes(base));
  out[threadIdx.x] = value + 1;  // LINE used_before_wait
  WaitLoad();
  __syncthreads();
  if (threadIdx.x < 32) Free(base, 32);
}
