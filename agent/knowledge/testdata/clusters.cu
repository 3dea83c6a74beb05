// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// What blocks of a cluster do to each other, function by function.
#include "boxes.cuh"

__global__ void __cluster_dims__(2) Memory() {
  __shared__ uint32_t mine;
  __shared__ uint32_t theirs;
  const uint32_t rank = cluster_ctarank();
  EXPECT(cluster_nctarank() == 2);
  EXPECT(rank == blockIdx.x % 2);
  if (threadIdx.x == 0) mine = 100 + rank;
  cluster_sync();
  if (threadIdx.x == 0) {
    EXPECT(ld_cluster(mapa(&mine, rank ^ 1)) == 100 + (rank ^ 1));
    st_cluster(mapa(&theirs, rank ^ 1), 200 + rank);
  }
  cluster_arrive();
  cluster_wait();
  EXPECT(theirs == 200 + (rank ^ 1));
  EXPECT(mapa(&mine, rank) % 4 == smem_addr(&mine) % 4);
  cluster_sync();
}

// Each block arrives on the other's barriers. Zero bytes are announced.
__global__ void __cluster_dims__(2) Arrivals() {
  __shared__ uint64_t plain, expecting;
  __shared__ uint32_t value;
  const uint32_t other = cluster_ctarank() ^ 1;
  if (threadIdx.x == 0) mbarrier_init(&plain, 1), mbarrier_init(&expecting, 1), fence_mbarrier_init();
  cluster_sync();
  if (threadIdx.x == 0) {
    st_cluster(mapa(&value, other), 7 + other);
    mbarrier_arrive_cluster(&plain, other);
    mbarrier_arrive_expect_tx_cluster(&expecting, other, 0);
  }
  mbarrier_wait_cluster(&plain, 0);
  mbarrier_wait_cluster(&expecting, 0);
  EXPECT(value == 7 + cluster_ctarank());
  cluster_sync();
}

// Block 0 of two loads for both; then each copies to the other.
__global__ void __cluster_dims__(2) Copies(const __grid_constant__ Maps maps) {
  Shared& shared = Start();
  const int t = threadIdx.x, rank = cluster_ctarank(), other = rank ^ 1;
  if (t == 0) mbarrier_arrive_expect_tx(&shared.bar, 128 + 4 * 256 + 256);
  cluster_sync();
  if (rank == 0 && t == 0) {
    const uint16_t both = 3;
    tma_load_multicast(shared.box, &maps.rank1, &shared.bar, both, 512);
    tma_load_multicast(shared.box + 256, &maps.rank2, &shared.bar, both, 64, 7);
    tma_load_multicast(shared.box + 512, &maps.rank3, &shared.bar, both, 64, 7, 0);
    tma_load_multicast(shared.box + 768, &maps.rank4, &shared.bar, both, 64, 7, 0, 0);
    tma_load_multicast(shared.box + 1024, &maps.rank5, &shared.bar, both, 64, 1, 1, 0, 0);
    bulk_load_multicast(shared.box + 1280, source + 256, 256, &shared.bar, both);
  }
  mbarrier_wait(&shared.bar, 0);
  if (t < 64) EXPECT(At(shared, t) == 512 + t);
  for (int i = 1; i <= 3; ++i) EXPECT(At(shared, i * 128 + t) == (7 + t / 64) * 256 + 64 + t % 64);
  EXPECT(At(shared, 512 + t) == (5 + t / 64) * 256 + 64 + t % 64);
  EXPECT(At(shared, 640 + t) == 256 + t);
  reinterpret_cast<uint16_t*>(shared.box + 2048)[t] = 100 * rank + t;
  fence_proxy_async();
  if (t == 0) mbarrier_arrive_expect_tx(&shared.bar, 256);
  cluster_sync();
  if (t == 0) bulk_copy_cluster(shared.box + 3072, other, shared.box + 2048, 256, &shared.bar);
  mbarrier_wait(&shared.bar, 1);
  EXPECT(At(shared, 1536 + t) == 100 * other + t);
  cluster_sync();
}

void Checks(cudaStream_t stream) {
  Fill<<<kRows, kColumns, 0, stream>>>();
  Memory<<<4, 32, 0, stream>>>();
  Arrivals<<<4, 32, 0, stream>>>();
  Copies<<<2, 128, sizeof(Shared), stream>>>(AllRanks(Place(source)));
}
