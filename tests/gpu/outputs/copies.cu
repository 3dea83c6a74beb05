// y = x by every means of Hopper that moves bytes: rows 0 to 127 by TMA through a swizzled tile, 128 to 191 by plain
// bulk copies, 192 to 255 from block to block of a cluster (by TMA to both, by a bulk copy to the neighbour, by
// ordinary stores). Workload: copy_r256_c512.
#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tma.cuh>

using namespace sassay::ptx;

constexpr int kColumns = 512;

struct Shared {
  int32_t tile[32 * 32], other[32 * 32];
  uint64_t bar;
};

__device__ Shared& Start(int arrivals) {
  Shared& shared = dynamic_smem<Shared>();
  if (threadIdx.x == 0) {
    mbarrier_init(&shared.bar, arrivals);
    fence_mbarrier_init();
  }
  __syncthreads();
  return shared;
}

// 32 rows of 32 columns a block.
__global__ void Tiles(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  Shared& shared = Start(1);
  const int column = blockIdx.x * 32, row = blockIdx.y * 32;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(&shared.bar, sizeof(shared.tile));
    tma_load(shared.tile, &from, &shared.bar, column, row);
  }
  mbarrier_wait(&shared.bar, 0);
  // Out of the 128-byte swizzle into the 64-byte one: two boxes of 16 columns.
  for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x) {
    const int r = i / 32, c = i % 32;
    const int32_t value = shared.tile[swizzled<Swizzle::b128>(4 * i) / 4];
    shared.other[c / 16 * 512 + swizzled<Swizzle::b64>(4 * (r * 16 + c % 16)) / 4] = value;
  }
  fence_proxy_async();
  __syncthreads();
  if (threadIdx.x == 0) {
    tma_store(&to, shared.other, column, row);
    tma_store(&to, shared.other + 512, column + 16, row);
    tma_commit_group();
    tma_wait_group<0>();
  }
}

// Two rows a block.
__global__ void Rows(const int32_t* x, int32_t* y) {
  Shared& shared = Start(1);
  const int first = (128 + 2 * blockIdx.x) * kColumns;
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(&shared.bar, 2 * kColumns * 4);
    bulk_load(shared.tile, x + first, kColumns * 4, &shared.bar);
    bulk_load(shared.tile + kColumns, x + first + kColumns, kColumns * 4, &shared.bar);
  }
  mbarrier_wait(&shared.bar, 0);
  if (threadIdx.x == 0) {
    bulk_store(y + first, shared.tile, 2 * kColumns * 4);
    tma_commit_group();
    tma_wait_group<0>();
  }
}

// A cluster of two has 32 rows of 32 columns: its first block asks TMA for all of it, for both of them. Each gives the
// neighbour its own half, one by a bulk copy, one by stores, and writes what it was given.
__global__ void __cluster_dims__(2, 1, 1) Neighbours(const __grid_constant__ CUtensorMap from, int32_t* y) {
  Shared& shared = Start(1);
  const uint32_t rank = cluster_ctarank();
  const int column = blockIdx.x / 2 * 32, row = 192 + blockIdx.y * 32;
  cluster_sync();
  if (threadIdx.x == 0) mbarrier_arrive_expect_tx(&shared.bar, sizeof(shared.tile));
  cluster_sync();
  if (rank == 0 && threadIdx.x == 0) tma_load_multicast(shared.tile, &from, &shared.bar, 3, column, row);
  mbarrier_wait(&shared.bar, 0);
  if (rank == 1 && threadIdx.x == 0) mbarrier_arrive_expect_tx(&shared.bar, 2048);
  cluster_sync();
  if (rank == 0) {
    if (threadIdx.x == 0) bulk_copy_cluster(shared.other, 1, shared.tile, 2048, &shared.bar);
  } else {
    for (int i = threadIdx.x; i < 512; i += blockDim.x) {
      st_cluster(mapa(&shared.other[i], 0), static_cast<uint32_t>(shared.tile[512 + i]));
    }
    mbarrier_wait(&shared.bar, 1);
  }
  cluster_sync();
  const int half = rank == 0 ? 16 : 0;  // the neighbour's rows
  for (int i = threadIdx.x; i < 512; i += blockDim.x) {
    y[(row + half + i / 32) * kColumns + column + i % 32] = shared.other[i];
  }
}

extern "C" void run(const int32_t* x, int32_t* y, cudaStream_t stream) {
  const auto map = [](const int32_t* base, int64_t columns, Swizzle swizzle) {
    return make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_INT32, base, {kColumns, 256}, {kColumns * 4}, {columns, 32},
                           swizzle);
  };
  Tiles<<<dim3(16, 4), 128, sizeof(Shared) + 1024, stream>>>(map(x, 32, Swizzle::b128), map(y, 16, Swizzle::b64));
  Rows<<<32, 128, sizeof(Shared) + 1024, stream>>>(x, y);
  Neighbours<<<dim3(32, 2), 128, sizeof(Shared) + 1024, stream>>>(map(x, 32, Swizzle::none), y);
}
