// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// tma.cuh, function by function.
#include "boxes.cuh"

__global__ void Ranks(const __grid_constant__ Maps maps) {
  Shared& shared = Start();
  const int t = threadIdx.x;
  if (t == 0) tma_prefetch_map(&maps.rank1), tma_prefetch(&maps.rank1, 64), tma_prefetch(&maps.rank2, 64, 3);
  if (t == 0) {
    tma_prefetch(&maps.rank3, 0, 0, 1), tma_prefetch(&maps.rank4, 0, 0, 0, 1);
    tma_prefetch(&maps.rank5, 0, 0, 0, 0, 1);
  }
  Bring(shared, 0, 128, [&] { tma_load(shared.box, &maps.rank1, &shared.bar, 1000); });
  if (t < 64) EXPECT(At(shared, t) == 1000 + t);
  __syncthreads();
  Bring(shared, 1, 2 * 128, [&] { tma_load(shared.box, &maps.rank2, &shared.bar, 64, 3u); });
  EXPECT(At(shared, t) == (3 + t / 64) * 256 + 64 + t % 64);
  __syncthreads();
  Bring(shared, 0, 2 * 128, [&] { tma_load_hint(shared.box, &maps.rank3, &shared.bar, kEvictFirst, 64, 5, 1); });
  EXPECT(At(shared, t) == 16 * 256 + (5 + t / 64) * 256 + 64 + t % 64);
  __syncthreads();
  Bring(shared, 1, 2 * 128, [&] { tma_load(shared.box, &maps.rank4, &shared.bar, 128, 5, 0, 1); });
  EXPECT(At(shared, t) == (1 * 32 + 0 * 16 + 5 + t / 64) * 256 + 128 + t % 64);
  __syncthreads();
  Bring(shared, 0, 2 * 128, [&] { tma_load_hint(shared.box, &maps.rank5, &shared.bar, kEvictLast, 128, 1, 2, 0, 1); });
  EXPECT(At(shared, t) == (1 * 32 + 0 * 16 + 2 * 4 + 1 + t / 64) * 256 + 128 + t % 64);
  __syncthreads();
  // Beyond the last row come zeros, and count.
  Bring(shared, 1, 2 * 128, [&] { tma_load_hint(shared.box, &maps.rank2, &shared.bar, kEvictNormal, 0, 63); });
  EXPECT(At(shared, t) == (t < 64 ? 63 * 256 + t : 0));
}

// A box of 16 rows of kSwizzle's bytes.
template <Swizzle kSwizzle>
__global__ void Swizzles(const __grid_constant__ CUtensorMap map) {
  constexpr int kSpan = static_cast<int>(kSwizzle);
  Shared& shared = Start();
  Bring(shared, 0, 16 * kSpan, [&] { tma_load(shared.box, &map, &shared.bar, 0, 8); });
  for (int i = threadIdx.x; i < 16 * kSpan / 2; i += blockDim.x) {
    const int row = i / (kSpan / 2), column = i % (kSpan / 2);
    EXPECT(At(shared, swizzled<kSwizzle>(i * 2) / 2) == (8 + row) * 256 + column);
  }
}

// Stores and adds, by ranks; then everything is read again.
__global__ void Stores(const __grid_constant__ Maps to, const __grid_constant__ CUtensorMap add) {
  Shared& shared = Start();
  uint16_t* words = reinterpret_cast<uint16_t*>(shared.box);
  float* numbers = reinterpret_cast<float*>(shared.box + 1024);
  const int t = threadIdx.x;
  words[t] = 5000 + t;
  numbers[t] = t;
  fence_proxy_async();
  __syncthreads();
  if (t == 0) {
    tma_store(&to.rank1, words, 0);
    tma_store(&to.rank2, words, 64, 1);
    tma_commit_group();
    tma_store(&to.rank3, words, 64, 3, 0);
    tma_store(&to.rank4, words, 64, 5, 0, 0);
    tma_store(&to.rank5, words, 64, 0, 2, 0, 0);
    tma_reduce_add(&add, numbers, 32, 2);
    tma_reduce_add(&add, numbers, 32, 2);
    tma_commit_group();
    tma_wait_group_read<1>();
    tma_wait_group<0>();
  }
}

__global__ void AfterStores() {
  const int t = threadIdx.x, row = t / 64, column = 64 + t % 64;
  if (t < 64) EXPECT(target[t] == 5000 + t);
  for (int first : {1, 3, 5, 8}) EXPECT(target[(first + row) * 256 + column] == 5000 + t);
  EXPECT(target[10 * 256 + column] == 0xffff);
  const int i = (2 + t / 32) * 256 + 32 + t % 32;
  EXPECT(sums[i] == i + 2 * t);
}

__global__ void Bulk() {
  Shared& shared = Start();
  const int t = threadIdx.x;
  if (t == 0) bulk_prefetch(source, 1024);
  Bring(shared, 0, 128, [&] {
    mbarrier_expect_tx(&shared.bar, 128);  // comes on top
    bulk_load(shared.box, source + 128, 256, &shared.bar);
  });
  EXPECT(At(shared, t) == 128 + t);
  float* numbers = reinterpret_cast<float*>(shared.box + 1024);
  __nv_bfloat16* some = reinterpret_cast<__nv_bfloat16*>(shared.box + 2048);
  numbers[t] = 3;
  some[t] = __int2bfloat16_rn(1);
  fence_proxy_async();
  __syncthreads();
  if (t == 0) {
    bulk_store(target + 20 * 256, shared.box, 256);
    bulk_reduce_add_f32(sums + 20 * 256, numbers, 512);
    bulk_reduce_add_bf16(halves + 20 * 256, some, 256);
    tma_commit_group();
    tma_wait_group<0>();
  }
}

__global__ void AfterBulk() {
  const int t = threadIdx.x;
  EXPECT(target[20 * 256 + t] == 128 + t);
  EXPECT(sums[20 * 256 + t] == 20 * 256 + t + 3);
  EXPECT(__bfloat162float(halves[20 * 256 + t]) == t % 64 + 1);
}

template <Swizzle kSwizzle>
static void LaunchSwizzles(cudaStream_t stream) {
  const int64_t span = static_cast<int64_t>(kSwizzle);
  Swizzles<kSwizzle><<<1, 128, sizeof(Shared), stream>>>(make_tensor_map(
      CU_TENSOR_MAP_DATA_TYPE_UINT16, Place(source), {kColumns, kRows}, {kColumns * 2}, {span / 2, 16}, kSwizzle));
}

void Checks(cudaStream_t stream) {
  Fill<<<kRows, kColumns, 0, stream>>>();
  Ranks<<<1, 128, sizeof(Shared), stream>>>(AllRanks(Place(source)));
  LaunchSwizzles<Swizzle::none>(stream);
  LaunchSwizzles<Swizzle::b32>(stream);
  LaunchSwizzles<Swizzle::b64>(stream);
  LaunchSwizzles<Swizzle::b128>(stream);
  Stores<<<1, 128, sizeof(Shared), stream>>>(
      AllRanks(Place(target)), make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, Place(sums), {kColumns, kRows},
                                               {kColumns * 4}, {32, 4}, Swizzle::none));
  AfterStores<<<1, 128, 0, stream>>>();
  Bulk<<<1, 128, sizeof(Shared), stream>>>();
  AfterBulk<<<1, 128, 0, stream>>>();
}
