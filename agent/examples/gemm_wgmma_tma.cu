// expect: CORRECT OK workload=gemm_n256_k256/M=256
//
// C = A * B^T by Hopper's own means: TMA brings the tiles, mbarriers say when, wgmma multiplies. Workload:
// gemm_n256_k256/M=256 (any M).
//
//   mini-ptx-agent submit agent/examples/gemm_wgmma_tma.cu --workload gemm_n256_k256/M=256
//
// One thread, the producer, asks the TMA unit for tiles; a warpgroup (four warps), the consumer, multiplies them out of
// shared memory. Between them lies a ring of stages with two barriers each: `full` (the bytes are here) and `empty`
// (they have been used).
#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

using Bf16 = __nv_bfloat16;

constexpr int kN = 256, kK = 256;
constexpr int kTileM = 64, kTileN = 128;  // of C, per block: one wgmma's m and n
constexpr int kDepth = 64;                // K per stage: 128 bytes of bf16, one row of the 128-byte swizzle
constexpr int kSteps = kK / kDepth;
constexpr int kStages = 3;  // fewer than kSteps, so the ring goes round
constexpr int kConsumers = 128, kThreads = kConsumers + 32;

// TMA puts 16-byte piece p of row r at piece p ^ (r % 8), so that neither its writes nor wgmma's reads meet in one
// bank. The pattern goes by the address and repeats every 1024 bytes (eight rows), so every tile must start at such a
// border.
struct Shared {
  Bf16 a[kStages][kTileM * kDepth];
  Bf16 b[kStages][kTileN * kDepth];
  uint64_t full[kStages], empty[kStages];
};
static_assert(kTileM * kDepth * sizeof(Bf16) % 1024 == 0 && kTileN * kDepth * sizeof(Bf16) % 1024 == 0);

__device__ uint32_t Address(const void* shared) { return static_cast<uint32_t>(__cvta_generic_to_shared(shared)); }

__device__ void Init(uint64_t& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(Address(&barrier)), "r"(arrivals) : "memory");
}

__device__ void Arrive(uint64_t& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(Address(&barrier)) : "memory");
}

// Arrives, and holds the phase open until that many bytes have come.
__device__ void ArriveExpecting(uint64_t& barrier, int bytes) {
  const uint32_t address = Address(&barrier);
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address), "r"(bytes) : "memory");
}

// Waits until the phase of this parity is over. Phases count from 0; before the first, "phase -1" (parity 1) is over.
__device__ void Wait(uint64_t& barrier, int parity) {
  uint32_t over = 0;
  while (over == 0) {
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(over)
                 : "r"(Address(&barrier)), "r"(parity)
                 : "memory");
  }
}

// Asks for the map's box at (k, row); its bytes are counted on the barrier. Outside the tensor, zeros come (and count).
__device__ void Fetch(Bf16* tile, const CUtensorMap& map, int k, int row, uint64_t& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
      :
      : "r"(Address(tile)), "l"(&map), "r"(k), "r"(row), "r"(Address(&barrier))
      : "memory");
}

// Where wgmma finds a tile whose rows lie along K under the 128-byte swizzle. Addresses count in units of 16 bytes.
__device__ uint64_t Descriptor(const Bf16* tile) {
  uint64_t descriptor = (Address(tile) & 0x3FFFF) >> 4;  // bits 0-13: start
  descriptor |= uint64_t{1} << 16;                       // bits 16-29: leading offset, not used with this swizzle
  descriptor |= uint64_t{1024 >> 4} << 32;               // bits 32-45: from one group of eight rows to the next
  descriptor |= uint64_t{1} << 62;                       // bits 62-63: 1 is the 128-byte swizzle
  return descriptor;                                     // bits 49-51, the base offset: 0 at 1024-byte borders
}

// d (64 x 128, spread over the warpgroup) += a (64 x 16) * b (128 x 16)^T. It only starts: nobody may touch `d` until
// the group has been waited for. What the last operands say: add to d, negate neither, transpose neither.
__device__ void MultiplyAsync(float (&d)[64], uint64_t a, uint64_t b) {
#define FOUR(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(i) FOUR(i), FOUR(i + 4), FOUR(i + 8), FOUR(i + 12)
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, "
      "%13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, "
      "%35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, "
      "%57, %58, %59, %60, %61, %62, %63}, %64, %65, add, 1, 1, 0, 0; }"
      : SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48)
      : "l"(a), "l"(b), "r"(1));
#undef SIXTEEN
#undef FOUR
}

__device__ void Produce(Shared& shared, const CUtensorMap& map_a, const CUtensorMap& map_b) {
  for (int step = 0; step < kSteps; ++step) {
    const int stage = step % kStages, round = step / kStages;
    Wait(shared.empty[stage], (round + 1) % 2);  // round 0 finds it empty
    ArriveExpecting(shared.full[stage], (kTileM + kTileN) * kDepth * sizeof(Bf16));
    Fetch(shared.a[stage], map_a, step * kDepth, blockIdx.y * kTileM, shared.full[stage]);
    Fetch(shared.b[stage], map_b, step * kDepth, blockIdx.x * kTileN, shared.full[stage]);
  }
}

__device__ void Consume(Shared& shared, float (&sums)[64]) {
  for (int step = 0; step < kSteps; ++step) {
    const int stage = step % kStages, round = step / kStages;
    Wait(shared.full[stage], round % 2);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");  // what was done to `sums` comes before wgmma's use of it
    for (int k = 0; k < kDepth; k += 16) {
      // 16 columns further are 32 bytes further: the hardware swizzles the sum, as TMA did.
      const int units = k * sizeof(Bf16) >> 4;
      MultiplyAsync(sums, Descriptor(shared.a[stage]) + units, Descriptor(shared.b[stage]) + units);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");  // all but the newest group are done,
    if (step > 0) Arrive(shared.empty[(step - 1) % kStages]);       // so the stage before has been used
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  for (float& sum : sums) asm volatile("" : "+f"(sum)::"memory");  // the compiler may not read them before the wait
}

// Registers 4j and 4j + 1 hold row lane / 4 of the warp's 16 rows, the next two the row eight below; columns are 8j +
// lane % 4 * 2 and its neighbour.
__device__ void Store(const float (&sums)[64], Bf16* c, int m) {
  const int lane = threadIdx.x % 32;
  const int row = blockIdx.y * kTileM + threadIdx.x / 32 * 16 + lane / 4;
  const int first_column = blockIdx.x * kTileN + lane % 4 * 2;
  for (int i = 0; i < 64; i += 4) {
    Bf16* place = c + static_cast<int64_t>(row) * kN + first_column + i * 2;
    if (row < m) *reinterpret_cast<__nv_bfloat162*>(place) = __floats2bfloat162_rn(sums[i], sums[i + 1]);
    if (row + 8 < m) {
      *reinterpret_cast<__nv_bfloat162*>(place + 8 * kN) = __floats2bfloat162_rn(sums[i + 2], sums[i + 3]);
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    GemmWgmmaTma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, Bf16* c, int m) {
  extern __shared__ __align__(1024) uint8_t memory[];
  Shared& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      Init(shared.full[stage], 1);            // the producer arrives, then the bytes
      Init(shared.empty[stage], kConsumers);  // every consumer arrives
    }
    // TMA works through another proxy, a path of its own to memory, which must see the barriers too.
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= kConsumers) {
    if (threadIdx.x == kConsumers) Produce(shared, map_a, map_b);
    return;
  }
  float sums[64] = {};
  Consume(shared, sums);
  Store(sums, c, m);
}

// Describes a row-major [rows, kK] matrix, fetched in boxes of kDepth columns and `box_rows` rows. The innermost
// dimension comes first; its stride is one element and not given.
static bool Encode(CUtensorMap& map, const Bf16* matrix, uint64_t rows, uint32_t box_rows) {
  void* function = nullptr;  // of the driver's library, which a candidate does not link
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  if (function == nullptr || found != cudaDriverEntryPointSuccess) return false;
  const cuuint64_t sizes[] = {kK, rows}, strides[] = {kK * sizeof(Bf16)};
  const cuuint32_t box[] = {kDepth, box_rows}, every[] = {1, 1};
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
             &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<Bf16*>(matrix), sizes, strides, box, every,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

extern "C" void run(const Bf16* A, const Bf16* B, Bf16* C, int64_t M, cudaStream_t stream) {
  CUtensorMap map_a, map_b;  // made anew in each call, since the pointers differ
  if (!Encode(map_a, A, M, kTileM) || !Encode(map_b, B, kN, kTileN)) return;
  cudaFuncSetAttribute(GemmWgmmaTma, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));  // above 48 KiB
  const dim3 grid(kN / kTileN, (static_cast<unsigned>(M) + kTileM - 1) / kTileM);
  GemmWgmmaTma<<<grid, kThreads, sizeof(Shared), stream>>>(map_a, map_b, C, static_cast<int>(M));
}
