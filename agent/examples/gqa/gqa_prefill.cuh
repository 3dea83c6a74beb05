// Causal grouped-query prefill on tensor cores (mma.sync): a block takes 16 query tokens of one sequence with the four
// heads that share a key head, 64 rows in all, and walks over the sequence's keys, 64 at a time.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

namespace gqa {

constexpr int kHeads = 32, kKvHeads = 8, kGroup = kHeads / kKvHeads, kD = 128;
constexpr int kTokens = 16, kKeys = 64;               // of a tile
constexpr int kThreads = kTokens * kGroup / 16 * 32;  // a warp for every 16 rows
constexpr int kPitch = kD + 8;                        // of a row in shared memory: no two lanes meet in a bank
constexpr int kDepth = kD / 16, kKeyTiles = kKeys / 8, kColumnTiles = kD / 8;
constexpr float kLog2E = 1.4426950408889634f;

struct Prefill {
  const __nv_bfloat16 *q, *k, *v;
  const int *qo_indptr, *kv_indptr;
  const int *indices, *last_page_len;  // null: no pages; last pages are full
  int sequences;
  float scale;
  __nv_bfloat16* output;
  float* lse;
};

// What a block works on.
struct Tile {
  int first_token, end_token;  // of this tile
  int first_page, keys;        // of the sequence; all keys
  int hidden;                  // keys that first_token does not see, because they come after it
};

template <int kPageSize>
__device__ bool FindTile(const Prefill& a, Tile& tile) {
  int at = blockIdx.x;
  for (int sequence = 0; sequence < a.sequences; ++sequence) {
    const int begin = a.qo_indptr[sequence], end = a.qo_indptr[sequence + 1];
    const int tiles = (end - begin + kTokens - 1) / kTokens;
    if (at >= tiles) {
      at -= tiles;
      continue;
    }
    tile.first_token = begin + at * kTokens;
    tile.end_token = min(end, tile.first_token + kTokens);
    tile.first_page = a.kv_indptr[sequence];
    tile.keys = (a.kv_indptr[sequence + 1] - tile.first_page) * kPageSize;
    if (a.last_page_len != nullptr) tile.keys -= kPageSize - a.last_page_len[sequence];
    tile.hidden = end - 1 - tile.first_token;
    return true;
  }
  return false;
}

// Rows of keys or values into shared memory; keys past the end are the last one again, and masked later.
template <int kPageSize>
__device__ void Fetch(const Prefill& a, const Tile& tile, int first, const __nv_bfloat16* from,
                      __nv_bfloat16 (*to)[kPitch]) {
  constexpr int kPieces = kD / 8;  // of 16 bytes in a row
#pragma unroll
  for (int i = threadIdx.x; i < kKeys * kPieces; i += kThreads) {
    const int key = i / kPieces, column = i % kPieces * 8, at = min(first + key, tile.keys - 1);
    int64_t page = tile.first_page + at / kPageSize;
    if (a.indices != nullptr) page = a.indices[page];
    const int64_t row = ((page * kPageSize + at % kPageSize) * kKvHeads + blockIdx.y) * kD;
    *reinterpret_cast<uint4*>(&to[key][column]) = *reinterpret_cast<const uint4*>(from + row + column);
  }
}

__device__ inline void Multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices, transposed; each lane names one row.
__device__ inline void LoadTransposed(uint32_t (&r)[4], const __nv_bfloat16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row))));
}

__device__ inline uint32_t Word(const __nv_bfloat16* at) { return *reinterpret_cast<const uint32_t*>(at); }

__device__ inline uint32_t Pack(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&both);
}

// Grid: (as many tiles as there may be, kKvHeads).
template <int kPageSize>
__global__ void __launch_bounds__(kThreads) PrefillTiles(Prefill a) {
  __shared__ __align__(16) __nv_bfloat16 keys[kKeys][kPitch], values[kKeys][kPitch];
  Tile tile;
  if (!FindTile<kPageSize>(a, tile)) return;
  const int lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4 * 2;
  // Rows of this lane: `group` and `group` + 8 of its warp's 16.
  int token[2], head[2], last_key[2];
  int64_t row[2];
  for (int half = 0; half < 2; ++half) {
    const int at = threadIdx.x / 32 * 16 + group + half * 8;
    token[half] = tile.first_token + at / kGroup;
    head[half] = blockIdx.y * kGroup + at % kGroup;
    last_key[half] = tile.keys - 1 - tile.hidden + at / kGroup;
    row[half] = static_cast<int64_t>(min(token[half], tile.end_token - 1)) * kHeads + head[half];
  }
  uint32_t query[kDepth][4];
#pragma unroll
  for (int d = 0; d < kDepth; ++d) {
#pragma unroll
    for (int i = 0; i < 4; ++i) query[d][i] = Word(a.q + row[i % 2] * kD + d * 16 + i / 2 * 8 + pair);
  }
  float sums[kColumnTiles][4] = {}, largest[2] = {-INFINITY, -INFINITY}, total[2] = {0.f, 0.f};
  const int visible = tile.keys - tile.hidden + (tile.end_token - 1 - tile.first_token);
  for (int first = 0; first < visible; first += kKeys) {
    __syncthreads();  // everybody has used the keys before
    Fetch<kPageSize>(a, tile, first, a.k, keys);
    Fetch<kPageSize>(a, tile, first, a.v, values);
    __syncthreads();
    float scores[kKeyTiles][4] = {};
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (int d = 0; d < kDepth; ++d) {
        const __nv_bfloat16* at = &keys[n * 8 + group][d * 16 + pair];
        Multiply(scores[n], query[d], Word(at), Word(at + 8));
      }
    }
    float top[2] = {largest[0], largest[1]};
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const bool seen = first + n * 8 + pair + i % 2 <= last_key[i / 2];
        scores[n][i] = seen ? scores[n][i] * (a.scale * kLog2E) : -INFINITY;
        top[i / 2] = fmaxf(top[i / 2], scores[n][i]);
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      top[half] = fmaxf(top[half], __shfl_xor_sync(0xffffffffu, top[half], 1));
      top[half] = fmaxf(top[half], __shfl_xor_sync(0xffffffffu, top[half], 2));
      // Every row sees the first key, so the largest is a number.
      const float shrink = exp2f(largest[half] - top[half]);
      largest[half] = top[half];
      total[half] *= shrink;
#pragma unroll
      for (int n = 0; n < kColumnTiles; ++n) {
        sums[n][half * 2] *= shrink;
        sums[n][half * 2 + 1] *= shrink;
      }
    }
#pragma unroll
    for (int n = 0; n < kKeyTiles; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        scores[n][i] = exp2f(scores[n][i] - largest[i / 2]);
        total[i / 2] += scores[n][i];
      }
    }
#pragma unroll
    for (int j = 0; j < kKeys / 16; ++j) {
      const uint32_t weights[4] = {Pack(scores[2 * j][0], scores[2 * j][1]), Pack(scores[2 * j][2], scores[2 * j][3]),
                                   Pack(scores[2 * j + 1][0], scores[2 * j + 1][1]),
                                   Pack(scores[2 * j + 1][2], scores[2 * j + 1][3])};
#pragma unroll
      for (int n = 0; n < kColumnTiles; n += 2) {
        uint32_t columns[4];
        LoadTransposed(columns, &values[j * 16 + lane % 16][n * 8 + lane / 16 * 8]);
        Multiply(sums[n], weights, columns[0], columns[1]);
        Multiply(sums[n + 1], weights, columns[2], columns[3]);
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    total[half] += __shfl_xor_sync(0xffffffffu, total[half], 1);
    total[half] += __shfl_xor_sync(0xffffffffu, total[half], 2);
    if (token[half] >= tile.end_token) continue;
#pragma unroll
    for (int n = 0; n < kColumnTiles; ++n) {
      *reinterpret_cast<uint32_t*>(a.output + row[half] * kD + n * 8 + pair) =
          Pack(sums[n][half * 2] / total[half], sums[n][half * 2 + 1] / total[half]);
    }
    if (pair == 0) a.lse[row[half]] = largest[half] + log2f(total[half]);
  }
}

template <int kPageSize>
void Run(const Prefill& a, int64_t total_q, cudaStream_t stream) {
  // A sequence's last tile may be full in part.
  const auto tiles = static_cast<unsigned>(total_q / kTokens + a.sequences);
  PrefillTiles<kPageSize><<<dim3(tiles, kKvHeads), kThreads, 0, stream>>>(a);
}

}  // namespace gqa
