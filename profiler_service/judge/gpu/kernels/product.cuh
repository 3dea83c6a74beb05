// The product that every reference is made of: bf16, fp32 or fp64 operands, accumulated in fp64 on the tensor cores.
//
// One block makes a tile of 128 x 128, its eight warps 32 x 64 each. Operands are converted to fp64 on their way into
// shared memory, where both lie with the depth adjacent and rows 20 apart (a pitch of 4 modulo 16 spreads a fragment
// over all banks). While a step of depth 16 is computed, the next is on its way in registers.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_PRODUCT_CUH_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_PRODUCT_CUH_

#include "profiler_service/judge/gpu/kernels/elements.cuh"

namespace sassay::judge::gpu {

constexpr int kTile = static_cast<int>(kProductTile), kDepth = 16, kPitch = 20, kTileDoubles = kTile * kPitch;

// Accumulates a 16 x 16 by 16 x 8 product of a warp. Fragments as PTX defines them for mma.m16n8k16 with .f64.
__device__ inline void MultiplyFragments(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if defined(SASSAY_WITHOUT_TENSOR_CORES)
  // The same on a machine without them: element (row, k) of A is lane 4 row + k's, and so is B's (column, k).
  const int lane = threadIdx.x % 32, row = lane / 4, column = lane % 4 * 2;
#pragma unroll
  for (int step = 0; step < 4; ++step) {
    for (int k = 0; k < 4; ++k) {
      const double a0 = __shfl_sync(~0u, a[2 * step], row * 4 + k), a1 = __shfl_sync(~0u, a[2 * step + 1], row * 4 + k);
      const double b0 = __shfl_sync(~0u, b[step], column * 4 + k), b1 = __shfl_sync(~0u, b[step], column * 4 + 4 + k);
      c[0] = fma(a0, b0, c[0]);
      c[1] = fma(a0, b1, c[1]);
      c[2] = fma(a1, b0, c[2]);
      c[3] = fma(a1, b1, c[3]);
    }
  }
#elif __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
      "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
        "d"(b[2]), "d"(b[3]));
#else
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(c[i % 2 * 2]), "+d"(c[i % 2 * 2 + 1])
        : "d"(a[i]), "d"(b[i / 2]));
  }
#endif
}

// One operand: rows (of A) or columns (of B), and the depth.
struct Operand {
  uint64_t base;
  Element element;
  int64_t outer, outer_stride, depth_stride;
};

// Eight adjacent elements on their way to shared memory, raw.
struct Chunk {
  uint4 words[4];
};

// Where a thread's chunk lies in a tile: eight adjacent of one row, or of one depth.
struct Place {
  int outer, depth;
  bool along_depth;
};

__device__ inline Place PlaceOf(const Operand& operand) {
  const int t = threadIdx.x;
  if (operand.outer_stride != 1 || operand.depth_stride == 1) return {t / 2, t % 2 * 8, true};
  return {t / 16 * 8, t % 16, false};
}

__device__ inline void Put(Chunk& chunk, int lane, double value) {
  uint32_t* words = reinterpret_cast<uint32_t*>(chunk.words);
  words[2 * lane] = static_cast<uint32_t>(__double2loint(value));
  words[2 * lane + 1] = static_cast<uint32_t>(__double2hiint(value));
}

// Reads the chunk; `element` becomes what it holds: the operand's type, or fp64 where the chunk was put together.
__device__ inline Chunk Read(const Operand& operand, const Place& place, int64_t outer, int64_t depth, int64_t end,
                             Element& element) {
  Chunk chunk;
  const int64_t first = (outer + place.outer) * operand.outer_stride + (depth + place.depth) * operand.depth_stride;
  const int64_t stride = place.along_depth ? operand.depth_stride : operand.outer_stride;
  const bool inside = place.along_depth ? outer + place.outer < operand.outer && depth + place.depth + 8 <= end
                                        : depth + place.depth < end && outer + place.outer + 8 <= operand.outer;
  const uint32_t width = WidthOf(operand.element);
  const uint64_t address = operand.base + first * width;
  if (inside && stride == 1 && address % 16 == 0) {
    element = operand.element;
    const uint4* from = reinterpret_cast<const uint4*>(address);
    chunk.words[0] = from[0];
    if (width >= 4) chunk.words[1] = from[1];
    if (width == 8) {
      chunk.words[2] = from[2];
      chunk.words[3] = from[3];
    }
    return chunk;
  }
  element = Element::kFloat64;
#pragma unroll
  for (int lane = 0; lane < 8; ++lane) {
    const int64_t row = outer + place.outer + (place.along_depth ? 0 : lane);
    const int64_t k = depth + place.depth + (place.along_depth ? lane : 0);
    const bool there = row < operand.outer && k < end;
    Put(chunk, lane,
        there ? Load(operand.element, operand.base, row * operand.outer_stride + k * operand.depth_stride) : 0.0);
  }
  return chunk;
}

__device__ inline double Take(const Chunk& chunk, int lane, Element element) {
  const uint32_t* words = reinterpret_cast<const uint32_t*>(chunk.words);
  if (element == Element::kFloat64) {
    return __hiloint2double(static_cast<int>(words[2 * lane + 1]), static_cast<int>(words[2 * lane]));
  }
  if (element == Element::kFloat32) return __uint_as_float(words[lane]);
  return __uint_as_float(lane % 2 ? words[lane / 2] & 0xFFFF0000 : words[lane / 2] << 16);
}

__device__ inline void Keep(double* tile, const Place& place, const Chunk& chunk, Element element) {
  double* to = tile + place.outer * kPitch + place.depth;
  const int step = place.along_depth ? 1 : kPitch;
#pragma unroll
  for (int lane = 0; lane < 8; ++lane) to[lane * step] = Take(chunk, lane, element);
}

__device__ inline void MultiplyTiles(double (&c)[8][2][4], const double* a_tile, const double* b_tile) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, member = lane % 4;
  const double* a_at = a_tile + (warp % 4 * 32 + group) * kPitch + member;
  const double* b_at = b_tile + (warp / 4 * 64 + group) * kPitch + member;
  double a[2][8];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int i = 0; i < 8; ++i) a[half][i] = a_at[(half * 16 + i % 2 * 8) * kPitch + i / 2 * 4];
  }
#pragma unroll
  for (int column = 0; column < 8; ++column) {
    double b[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) b[i] = b_at[column * 8 * kPitch + i * 4];
    MultiplyFragments(c[column][0], a[0], b);
    MultiplyFragments(c[column][1], a[1], b);
  }
}

__device__ inline void StoreTile(const ProductArguments& p, const double (&c)[8][2][4], int64_t row0, int64_t column0) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, member = lane % 4;
  const uint64_t base = p.c + blockIdx.z * p.c_batch * WidthOf(p.c_element);
#pragma unroll
  for (int column = 0; column < 8; ++column) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int64_t row = row0 + warp % 4 * 32 + half * 16 + group + i / 2 * 8;
        const int64_t at = column0 + warp / 4 * 64 + column * 8 + member * 2 + i % 2;
        if (row >= p.m || at >= p.n) continue;
        if (p.c_element == Element::kFloat32) {
          At<float>(base, row * p.c_row + at) = static_cast<float>(c[column][half][i]);
        } else {
          double& to = At<double>(base, row * p.c_row + at);
          to = p.accumulate ? to + c[column][half][i] : c[column][half][i];
        }
      }
    }
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1) sassay_product(ProductArguments p) {
  extern __shared__ double shared[];
  const int64_t row0 = static_cast<int64_t>(blockIdx.y) * kTile, column0 = static_cast<int64_t>(blockIdx.x) * kTile;
  int64_t begin = 0, end = p.k;
  if (p.triangle == Triangle::kResult && column0 >= p.first_row + row0 + kTile) return;
  if (p.triangle == Triangle::kRows) end = min(end, p.first_row + row0 + kTile);
  if (p.triangle == Triangle::kDepth) begin = max(int64_t{0}, row0 - p.first_row) / kDepth * kDepth;
  const Operand a{p.a + blockIdx.z * p.a_batch * WidthOf(p.a_element), p.a_element, p.m, p.a_row, p.a_depth};
  const Operand b{p.b + blockIdx.z * p.b_batch * WidthOf(p.b_element), p.b_element, p.n, p.b_column, p.b_depth};
  const Place a_place = PlaceOf(a), b_place = PlaceOf(b);
  double c[8][2][4] = {};
  Element a_holds, b_holds;
  Chunk a_chunk = Read(a, a_place, row0, begin, end, a_holds), b_chunk = Read(b, b_place, column0, begin, end, b_holds);
  for (int64_t depth = begin, step = 0; depth < end; depth += kDepth, ++step) {
    double* tiles = shared + step % 2 * 2 * kTileDoubles;
    Keep(tiles, a_place, a_chunk, a_holds);
    Keep(tiles + kTileDoubles, b_place, b_chunk, b_holds);
    __syncthreads();
    if (depth + kDepth < end) {
      a_chunk = Read(a, a_place, row0, depth + kDepth, end, a_holds);
      b_chunk = Read(b, b_place, column0, depth + kDepth, end, b_holds);
    }
    MultiplyTiles(c, tiles, tiles + kTileDoubles);
  }
  StoreTile(p, c, row0, column0);
}

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_KERNELS_PRODUCT_CUH_
