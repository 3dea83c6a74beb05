// Numbers in global memory, tensor maps of every rank over them, and a box in shared memory that TMA fills.
#pragma once

#include <sassay/ptx/mbarrier.cuh>
#include <sassay/ptx/tma.cuh>

#include "self_check.cuh"

using namespace sassay::ptx;

// 64 x 256 numbers of 16 bits; also 4 x 16 x 256, 2 x 2 x 16 x 256, 2 x 2 x 4 x 4 x 256.
constexpr int kRows = 64, kColumns = 256;
__device__ __align__(256) uint16_t source[kRows * kColumns];
__device__ __align__(256) uint16_t target[kRows * kColumns];
__device__ __align__(256) float sums[kRows * kColumns];
__device__ __align__(256) __nv_bfloat16 halves[kRows * kColumns];

__global__ void Fill() {
  const int i = blockIdx.x * kColumns + threadIdx.x;
  source[i] = i;
  target[i] = 0xffff;
  sums[i] = i;
  halves[i] = __int2bfloat16_rn(i % 64);
}

// One box, one barrier, used over and over.
struct Shared {
  uint8_t box[8192];
  uint64_t bar;
};

__device__ Shared& Start() {
  Shared& shared = dynamic_smem<Shared>();
  if (threadIdx.x == 0) mbarrier_init(&shared.bar, 1), fence_mbarrier_init();
  __syncthreads();
  return shared;
}

// Starts a load with `load`, waits for its bytes.
template <typename Load>
__device__ void Bring(Shared& shared, uint32_t parity, uint32_t bytes, Load load) {
  if (threadIdx.x == 0) {
    mbarrier_arrive_expect_tx(&shared.bar, bytes);
    load();
  }
  mbarrier_wait(&shared.bar, parity);
}

struct Maps {
  CUtensorMap rank1, rank2, rank3, rank4, rank5;
};

__device__ uint16_t At(const Shared& shared, int i) { return reinterpret_cast<const uint16_t*>(shared.box)[i]; }

template <typename T>
static void* Place(T& symbol) {
  void* address = nullptr;
  cudaGetSymbolAddress(&address, symbol);
  return address;
}

static Maps AllRanks(void* base) {
  const auto type = CU_TENSOR_MAP_DATA_TYPE_UINT16;
  const auto none = Swizzle::none;
  return {make_tensor_map(type, base, {kRows * kColumns}, {}, {64}, none),
          make_tensor_map(type, base, {256, 64}, {512}, {64, 2}, none),
          make_tensor_map(type, base, {256, 16, 4}, {512, 8192}, {64, 2, 1}, none),
          make_tensor_map(type, base, {256, 16, 2, 2}, {512, 8192, 16384}, {64, 2, 1, 1}, none),
          make_tensor_map(type, base, {256, 4, 4, 2, 2}, {512, 2048, 8192, 16384}, {64, 2, 1, 1, 1}, none)};
}
