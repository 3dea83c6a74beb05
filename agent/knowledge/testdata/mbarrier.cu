// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// mbarrier.cuh, function by function.
#include <sassay/ptx/mbarrier.cuh>

#include "self_check.cuh"

using namespace sassay::ptx;

// Three rounds of a ring of two stages between a producer warp and a consumer warp.
__global__ void RingOfTwo() {
  __shared__ uint64_t full[2], empty[2];
  __shared__ int values[2][32];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < 2; ++stage) {
      mbarrier_init(&full[stage], 32);
      mbarrier_init(&empty[stage], 1);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  Ring<2> place;
  for (int step = 0; step < 6; ++step) {
    if (warp_id() == 0) {
      mbarrier_wait(&empty[place.stage], place.parity ^ 1);
      values[place.stage][lane_id()] = step * 100 + lane_id();
      mbarrier_arrive(&full[place.stage]);
    } else {
      mbarrier_wait(&full[place.stage], place.parity);
      EXPECT(values[place.stage][31 - lane_id()] == step * 100 + 31 - lane_id());
      __syncwarp();
      if (elect_one()) mbarrier_arrive(&empty[place.stage]);
    }
    EXPECT(place.stage == step % 2 && static_cast<int>(place.parity) == step / 2 % 2);
    place.advance();
  }
  __syncthreads();
  if (threadIdx.x == 0) mbarrier_inval(&full[0]);
}

// One thread, so that every answer is certain.
__global__ void Phases() {
  __shared__ uint64_t bar;
  mbarrier_init(&bar, 3);
  fence_mbarrier_init();
  EXPECT(mbarrier_test_wait(&bar, 1));
  EXPECT(!mbarrier_test_wait(&bar, 0));
  mbarrier_arrive(&bar, 2);
  EXPECT(!mbarrier_test_wait(&bar, 0));
  mbarrier_arrive(&bar);
  EXPECT(mbarrier_test_wait(&bar, 0));
  EXPECT(mbarrier_try_wait(&bar, 0));
  EXPECT(!mbarrier_test_wait(&bar, 1));
  mbarrier_wait(&bar, 0);
  mbarrier_inval(&bar);
}

__device__ uint32_t words[128];
__global__ void Fill() { words[threadIdx.x] = threadIdx.x * 9; }

__global__ void AsyncCopies() {
  __shared__ __align__(16) uint32_t copied[128];
  __shared__ uint64_t bar;
  if (threadIdx.x == 0) mbarrier_init(&bar, 32), fence_mbarrier_init();
  __syncthreads();
  if (threadIdx.x < 32) {
    cp_async_16(&copied[threadIdx.x * 4], &words[threadIdx.x * 4]);
    cp_async_mbarrier_arrive(&bar);
  }
  mbarrier_wait(&bar, 0);
  EXPECT(copied[threadIdx.x] == threadIdx.x * 9);
}

void Checks(cudaStream_t stream) {
  RingOfTwo<<<1, 64, 0, stream>>>();
  Phases<<<1, 1, 0, stream>>>();
  Fill<<<1, 128, 0, stream>>>();
  AsyncCopies<<<1, 128, 0, stream>>>();
}
