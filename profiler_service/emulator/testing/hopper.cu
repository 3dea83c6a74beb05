// TMA and wgmma, one instruction form per kernel, as the tests beside need them.
#include <cstdint>

namespace {

__device__ uint32_t Address(const void* shared) { return static_cast<uint32_t>(__cvta_generic_to_shared(shared)); }

__device__ void Init(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(Address(barrier)), "r"(arrivals) : "memory");
}
__device__ void Expect(uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(Address(barrier)), "r"(bytes) : "memory");
}
__device__ void Wait(uint64_t* barrier, int parity) {
  asm volatile(
      "{ .reg .pred over;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra again; }" ::"r"(Address(barrier)),
      "r"(parity)
      : "memory");
}
__device__ void FenceProxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void CommitStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ void WaitStores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

struct alignas(64) Map {
  char bytes[128];
};

struct Coordinates {
  int at[5];
};

#define LOAD(rank, list, ...)                                                                        \
  asm volatile("cp.async.bulk.tensor." #rank                                                         \
               "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " list "], [%2];" :: \
                   "r"(Address(tile)), "l"(&map), "r"(Address(barrier)), __VA_ARGS__                   \
               : "memory")

__device__ void Load(int rank, void* tile, const Map& map, const Coordinates& c, uint64_t* barrier) {
  const int* at = c.at;
  if (rank == 1) LOAD(1, "{%3}", "r"(at[0]));
  if (rank == 2) LOAD(2, "{%3, %4}", "r"(at[0]), "r"(at[1]));
  if (rank == 3) LOAD(3, "{%3, %4, %5}", "r"(at[0]), "r"(at[1]), "r"(at[2]));
  if (rank == 4) LOAD(4, "{%3, %4, %5, %6}", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
  if (rank == 5) LOAD(5, "{%3, %4, %5, %6, %7}", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
}

}  // namespace

// One box, as it lies in shared memory, to `out`.
extern "C" __global__ void load_box(const __grid_constant__ Map map, const __grid_constant__ Coordinates at, int rank,
                                    int bytes, uint4* out) {
  extern __shared__ __align__(1024) uint4 tile[];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    Init(&barrier, 1);
    FenceProxy();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    Expect(&barrier, bytes);
    Load(rank, tile, map, at, &barrier);
  }
  Wait(&barrier, 0);
  for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x) out[i] = tile[i];
}

// The reverse: `in`, as it shall lie in shared memory, goes out as a box; `adds`: by reduction.
extern "C" __global__ void store_box(const __grid_constant__ Map map, const __grid_constant__ Coordinates at, int adds,
                                     int bytes, const uint4* in, int fenced) {
  extern __shared__ __align__(1024) uint4 tile[];
  for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x) tile[i] = in[i];
  if (fenced) FenceProxy();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (adds) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%1, {%2, %3}], [%0];" ::"r"(
                     Address(tile)),
                 "l"(&map), "r"(at.at[0]), "r"(at.at[1])
                 : "memory");
  } else {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%1, {%2, %3}], [%0];" ::"r"(Address(tile)),
                 "l"(&map), "r"(at.at[0]), "r"(at.at[1])
                 : "memory");
  }
  CommitStores();
  WaitStores();
}

// Plain bulk copies there and back; the reduction adds s32. `bytes` expected may differ from what comes.
extern "C" __global__ void bulk_round_trip(const int4* in, int4* out, int* sums, int bytes, int expected) {
  extern __shared__ __align__(1024) uint4 tile[];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    Init(&barrier, 1);
    FenceProxy();
    Expect(&barrier, expected);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     Address(tile)),
                 "l"(in), "r"(bytes), "r"(Address(&barrier))
                 : "memory");
    Wait(&barrier, 0);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(Address(tile)), "r"(bytes)
                 : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(sums),
                 "r"(Address(tile)), "r"(bytes)
                 : "memory");
    CommitStores();
    WaitStores();
  }
}

// Reads what TMA brings without having waited for it.
extern "C" __global__ void read_early(const int4* in, int* out) {
  __shared__ __align__(128) int tile[64];
  __shared__ uint64_t barrier;
  if (threadIdx.x == 0) {
    tile[0] = 0;
    Init(&barrier, 1);
    FenceProxy();
    Expect(&barrier, 256);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     Address(tile)),
                 "l"(in), "r"(256), "r"(Address(&barrier))
                 : "memory");
    out[0] = tile[0];  // LINE read_early
    Wait(&barrier, 0);
  }
}

// ---- wgmma: one product of 64 x K by N x K, `steps` times on consecutive descriptors. `image` is shared memory as it
// shall lie; the descriptors are what the host made of it, relative to its start.

#define FOUR(i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define REGISTERS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"

namespace {

template <int kForm>
__device__ void Multiply(uint32_t (&d)[16], uint64_t a, uint64_t b, int add) {
#define PRODUCT(types, rest)                                                                                      \
  asm volatile("{ .reg .pred add; setp.ne.b32 add, %18, 0;\nwgmma.mma_async.sync.aligned.m64n32k" types " " REGISTERS \
               ", %16, %17, add" rest "; }"                                                                       \
               : FOUR(0), FOUR(4), FOUR(8), FOUR(12)                                                              \
               : "l"(a), "l"(b), "r"(add))
  if constexpr (kForm == 0) PRODUCT("16.f32.bf16.bf16", ", 1, 1, 0, 0");
  if constexpr (kForm == 1) PRODUCT("16.f32.f16.f16", ", 1, -1, 0, 0");
  if constexpr (kForm == 2) PRODUCT("8.f32.tf32.tf32", ", 1, 1");
  if constexpr (kForm == 3) PRODUCT("32.f32.e4m3.e4m3", ", 1, 1");
  if constexpr (kForm == 4) PRODUCT("32.f32.e5m2.e4m3", ", 1, 1");
  if constexpr (kForm == 5) PRODUCT("32.s32.s8.s8", "");
  if constexpr (kForm == 6) PRODUCT("16.f32.bf16.bf16", ", 1, 1, 1, 1");
  if constexpr (kForm == 7) PRODUCT("16.f32.bf16.bf16", ", 1, 1, 0, 1");
  if constexpr (kForm == 8) PRODUCT("32.s32.u8.u8", "");
#undef PRODUCT
}

template <int kForm>
__device__ void Product(const uint4* image, int bytes, uint64_t a, uint64_t b, uint32_t* out, int flaw) {
  extern __shared__ __align__(1024) uint4 tile[];
  for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x) tile[i] = image[i];
  if (flaw != 1) FenceProxy();
  __syncthreads();
  const uint64_t base = Address(tile) >> 4;
  uint32_t d[16];
  for (int i = 0; i < 16; ++i) d[i] = kForm == 5 || kForm == 8 ? i : __float_as_uint(static_cast<float>(i));
  if (flaw != 4) asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  Multiply<kForm>(d, base + a, base + b, 1);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  if (flaw == 2) {
    tile[threadIdx.x] = make_uint4(0, 0, 0, 0);  // LINE overwrite_early
  }
  if (flaw != 3) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 16; ++i) out[threadIdx.x * 16 + i] = d[i];
  if (flaw == 3) asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

}  // namespace

#define PRODUCT_KERNEL(form)                                                                                  \
  extern "C" __global__ void product_##form(const uint4* image, int bytes, uint64_t a, uint64_t b, uint32_t* out, \
                                            int flaw) {                                                       \
    Product<form>(image, bytes, a, b, out, flaw);                                                             \
  }
PRODUCT_KERNEL(0)
PRODUCT_KERNEL(1)
PRODUCT_KERNEL(2)
PRODUCT_KERNEL(3)
PRODUCT_KERNEL(4)
PRODUCT_KERNEL(5)
PRODUCT_KERNEL(6)
PRODUCT_KERNEL(7)
PRODUCT_KERNEL(8)

// The first factor in registers, f16; results in f16.
extern "C" __global__ void product_registers(const uint4* image, int bytes, const uint32_t* a, uint64_t b, uint32_t* out) {
  extern __shared__ __align__(1024) uint4 tile[];
  for (int i = threadIdx.x; i < bytes / 16; i += blockDim.x) tile[i] = image[i];
  FenceProxy();
  __syncthreads();
  const uint64_t base = Address(tile) >> 4;
  uint32_t d[8] = {}, f[4];
  for (int i = 0; i < 4; ++i) f[i] = a[threadIdx.x * 4 + i];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n32k16.f16.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, %12, 0, "
      "1, 1, 0;"
      : FOUR(0), FOUR(4)
      : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(base + b));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 8; ++i) out[threadIdx.x * 8 + i] = d[i];
}

// A box of 64 x 64 numbers of 16 bits by a tensor map, multiplied with itself under the descriptor's own swizzle.
extern "C" __global__ void product_of_box(const __grid_constant__ Map map, uint64_t descriptor, uint32_t* out) {
  extern __shared__ __align__(1024) uint4 tile[];
  __shared__ uint64_t full;
  if (threadIdx.x == 0) {
    Init(&full, 1);
    FenceProxy();
    Expect(&full, 64 * 128);
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%3];" ::"r"(
            Address(tile)),
        "l"(&map), "r"(0), "r"(Address(&full))
        : "memory");
  }
  __syncthreads();
  Wait(&full, 0);
  const uint64_t factor = descriptor + (Address(tile) >> 4);
  uint32_t d[16] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  Multiply<0>(d, factor, factor, 0);
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (int i = 0; i < 16; ++i) out[threadIdx.x * 16 + i] = d[i];
}

// ---- clusters of two blocks ----

namespace {

__device__ uint32_t Rank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
__device__ uint32_t InBlock(const void* shared, uint32_t rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(Address(shared)), "r"(rank));
  return address;
}
__device__ void SyncCluster() {
  asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

}  // namespace

// Every block writes what it reads out of the other's shared memory.
extern "C" __global__ void __cluster_dims__(2, 1, 1) exchange(int* out, int* atomics) {
  __shared__ int values[32], count;
  values[threadIdx.x] = static_cast<int>(blockIdx.x * 100 + threadIdx.x);
  if (threadIdx.x == 0) count = 0;
  SyncCluster();
  int value;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(InBlock(&values[threadIdx.x], Rank() ^ 1)) : "memory");
  out[blockIdx.x * 32 + threadIdx.x] = value;
  asm volatile("red.relaxed.cluster.shared::cluster.add.s32 [%0], %1;" ::"r"(InBlock(&count, 0)), "r"(1) : "memory");
  SyncCluster();
  if (threadIdx.x == 0 && Rank() == 0) atomics[blockIdx.x / 2] = count;
}

// The first block fetches for both; the second one tells the first that it has read its copy.
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast(const int4* in, int4* out) {
  __shared__ __align__(128) int4 tile[32];
  __shared__ uint64_t full, empty;
  if (threadIdx.x == 0) {
    Init(&full, 1);
    Init(&empty, 64);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    FenceProxy();
  }
  SyncCluster();
  for (int round = 0; round < 3; ++round) {
    if (threadIdx.x == 0) {
      if (Rank() == 0) Wait(&empty, (round + 1) % 2);
      Expect(&full, 512);
      if (Rank() == 0) {
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
            "%4;" ::"r"(Address(tile)),
            "l"(in + round * 32), "r"(512), "r"(Address(&full)), "h"(static_cast<uint16_t>(3))
            : "memory");
      }
    }
    Wait(&full, round % 2);
    out[(blockIdx.x * 3 + round) * 32 + threadIdx.x] = tile[threadIdx.x];
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(InBlock(&empty, 0)) : "memory");
  }
  SyncCluster();
}

// The second block leaves; the first one still reads its shared memory.
extern "C" __global__ void __cluster_dims__(2, 1, 1) left_early(int* out) {
  __shared__ int value;
  value = 1;
  SyncCluster();
  if (Rank() == 1) return;
  for (volatile int i = 0; i < 100000; ++i) {
  }
  int other;
  asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(other) : "r"(InBlock(&value, 1)) : "memory");  // LINE left_early
  out[threadIdx.x] = other;
}
