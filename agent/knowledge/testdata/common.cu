// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// common.cuh, function by function.
#include <sassay/ptx/common.cuh>

#include "self_check.cuh"

using namespace sassay::ptx;

__global__ void Identity() {
  EXPECT(lane_id() == static_cast<int>(threadIdx.x % 32));
  EXPECT(warp_id() == static_cast<int>(threadIdx.x / 32));
  EXPECT(warpgroup_id() == static_cast<int>(threadIdx.x / 128));
  EXPECT(__popc(__ballot_sync(~0u, elect_one())) == 1);
  float numbers[2] = {1, 2};
  int32_t integers[1] = {3};
  pin_registers(numbers);
  pin_registers(integers);
  EXPECT(numbers[1] + integers[0] == 5);
}

__global__ void Arithmetic() {
  const float x = threadIdx.x / 8.f - 8;
  EXPECT(fabsf(ex2(x) - exp2f(x)) <= 1e-5f * exp2f(x));
  EXPECT(fabsf(lg2(x + 9) - log2f(x + 9)) <= 1e-5f);
  EXPECT(ex2(3) == 8 && lg2(8) == 3);
  const __nv_bfloat162 b = __floats2bfloat162_rn(x, -x * 3);
  const __half2 h = __floats2half2_rn(x, -x * 3);
  EXPECT(pack_bf16(x, -x * 3) == reinterpret_cast<const uint32_t&>(b));
  EXPECT(pack_f16(x, -x * 3) == reinterpret_cast<const uint32_t&>(h));
  EXPECT(pack_bf16(1, 2) == 0x40003f80);
}

__global__ void Swizzles() {
  const uint32_t row = threadIdx.x / 8, piece = threadIdx.x % 8;
  EXPECT(swizzled<Swizzle::none>(threadIdx.x * 16) == threadIdx.x * 16);
  EXPECT(swizzled<Swizzle::b128>(row * 128 + piece * 16) == row * 128 + (piece ^ row % 8) * 16);
  EXPECT(swizzled<Swizzle::b64>(row * 64 + piece % 4 * 16 + 5) == row * 64 + (piece % 4 ^ row / 2 % 4) * 16 + 5);
  EXPECT(swizzled<Swizzle::b32>(row * 32 + piece % 2 * 16) == row * 32 + (piece % 2 ^ row / 4 % 2) * 16);
}

// Half of the warps only arrive.
__global__ void NamedBarriers() {
  __shared__ int values[128];
  if (threadIdx.x < 64) {
    values[threadIdx.x] = threadIdx.x;
    named_barrier_arrive(1, 128);
  } else {
    named_barrier_sync(1, 128);
    EXPECT(values[threadIdx.x - 64] == static_cast<int>(threadIdx.x - 64));
  }
}

__global__ void __launch_bounds__(384, 1) Registers() {
  if (warpgroup_id() == 0) {
    setmaxnreg_dec<40>();
  } else {
    setmaxnreg_inc<232>();
  }
  EXPECT(__syncthreads_count(1) == 384);
}

__device__ uint32_t words[128];

__global__ void Fill() {
  words[threadIdx.x] = threadIdx.x * 5;
  griddepcontrol_launch_dependents();
}

struct Copied {
  uint32_t words[128];
};

__global__ void AsyncCopies() {
  griddepcontrol_wait();
  Copied& copied = dynamic_smem<Copied>();
  EXPECT(smem_addr(&copied) % 1024 == 0);
  if (threadIdx.x < 16) cp_async_16(&copied.words[threadIdx.x * 4], &words[threadIdx.x * 4]);
  cp_async_commit();
  if (threadIdx.x < 16) cp_async_16(&copied.words[64 + threadIdx.x * 4], &words[64 + threadIdx.x * 4], 8);
  cp_async_commit();
  cp_async_wait<0>();
  __syncthreads();
  EXPECT(copied.words[threadIdx.x] == (threadIdx.x < 64 || threadIdx.x % 4 < 2 ? threadIdx.x * 5 : 0));
  fence_proxy_async();
  fence_proxy_async_global();
}

// A 16 x 16 matrix of 16-bit numbers, row * 16 + column.
__global__ void Matrices() {
  __shared__ __align__(16) uint16_t in[256];
  __shared__ __align__(16) uint16_t out[256];
  __shared__ __align__(16) uint16_t across[256];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) in[i] = i;
  __syncwarp();
  uint32_t r[4], t[4];
  const int row = lane % 16, column = lane / 16 * 8;
  ldmatrix_x4(r, &in[row * 16 + column]);
  ldmatrix_x4_trans(t, &in[row * 16 + column]);
  for (int i = 0; i < 4; ++i) {
    const uint32_t first = (lane / 4 + i % 2 * 8) * 16 + lane % 4 * 2 + i / 2 * 8;
    EXPECT(r[i] == (first | (first + 1) << 16));
    const uint32_t turned = (lane % 4 * 2 + i % 2 * 8) * 16 + lane / 4 + i / 2 * 8;
    EXPECT(t[i] == (turned | (turned + 16) << 16));
  }
  stmatrix_x4(&out[row * 16 + column], r[0], r[1], r[2], r[3]);
  stmatrix_x4_trans(&across[row * 16 + column], t[0], t[1], t[2], t[3]);
  __syncwarp();
  for (int i = lane; i < 256; i += 32) EXPECT(out[i] == i && across[i] == i);
}

void Checks(cudaStream_t stream) {
  Identity<<<1, 256, 0, stream>>>();
  Arithmetic<<<1, 128, 0, stream>>>();
  Swizzles<<<1, 256, 0, stream>>>();
  NamedBarriers<<<1, 128, 0, stream>>>();
  Registers<<<1, 384, 0, stream>>>();
  Fill<<<1, 128, 0, stream>>>();
  AsyncCopies<<<1, 128, sizeof(Copied), stream>>>();
  Matrices<<<1, 32, 0, stream>>>();
}
