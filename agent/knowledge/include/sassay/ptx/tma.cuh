// TMA: one thread starts copies between global and shared memory. Shared addresses: 128-byte borders (1024 under
// Swizzle::b128). Global addresses, strides and byte counts: multiples of 16.
#pragma once

#include <initializer_list>

#include "common.cuh"

namespace sassay::ptx {

// Host: describes a tensor and the box that one copy moves. Dimensions innermost first, at most 5. `strides` in bytes,
// of all dimensions but the innermost. Each box extent at most 256; the inner one at most the swizzle's bytes. Outside
// of the tensor loads give zeros (which count as bytes) and stores do nothing. Make it anew in each call of run(), pass
// it as `const __grid_constant__ CUtensorMap map`, and give the functions below its address.
//   make_tensor_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, A, {K, M}, {K * 2}, {64, 128}, Swizzle::b128)
inline CUtensorMap make_tensor_map(CUtensorMapDataType type, const void* base, std::initializer_list<int64_t> sizes,
                                   std::initializer_list<int64_t> strides, std::initializer_list<int64_t> box,
                                   Swizzle swizzle = Swizzle::b128) {
  cuuint64_t size[5] = {}, stride[5] = {};
  cuuint32_t extent[5] = {}, every[5] = {1, 1, 1, 1, 1};
  int rank = 0, i = 0, j = 0;
  for (int64_t s : sizes) size[rank++] = s;
  for (int64_t s : strides) stride[i++] = s;
  for (int64_t s : box) extent[j++] = static_cast<cuuint32_t>(s);
  const auto mode = swizzle == Swizzle::b128  ? CU_TENSOR_MAP_SWIZZLE_128B
                    : swizzle == Swizzle::b64 ? CU_TENSOR_MAP_SWIZZLE_64B
                    : swizzle == Swizzle::b32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                              : CU_TENSOR_MAP_SWIZZLE_NONE;
  void* encode = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
  CUtensorMap map = {};
  reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
      &map, type, rank, const_cast<void*>(base), size, stride, extent, every, CU_TENSOR_MAP_INTERLEAVE_NONE, mode,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

// L2 policies for loads.
constexpr uint64_t kEvictNormal = 0x1000000000000000, kEvictFirst = 0x12F0000000000000, kEvictLast = 0x14F0000000000000;

// The instruction for so many coordinates; they are operands %4 and up.
#define SASSAY_TMA(BEFORE, MIDDLE, AFTER, ...)                                                                         \
  constexpr int kRank = sizeof...(Coordinates);                                                                        \
  static_assert(1 <= kRank && kRank <= 5, "a tensor has 1 to 5 coordinates, innermost first");                         \
  const int c[] = {static_cast<int>(coordinates)...};                                                                  \
  if constexpr (kRank == 1)                                                                                            \
    asm volatile(BEFORE "1d" MIDDLE "{%4}" AFTER ::__VA_ARGS__, "r"(c[0]) : "memory");                                 \
  else if constexpr (kRank == 2)                                                                                       \
    asm volatile(BEFORE "2d" MIDDLE "{%4, %5}" AFTER ::__VA_ARGS__, "r"(c[0]), "r"(c[1]) : "memory");                  \
  else if constexpr (kRank == 3)                                                                                       \
    asm volatile(BEFORE "3d" MIDDLE "{%4, %5, %6}" AFTER ::__VA_ARGS__, "r"(c[0]), "r"(c[1]), "r"(c[2]) : "memory");   \
  else if constexpr (kRank == 4)                                                                                       \
    asm volatile(BEFORE "4d" MIDDLE "{%4, %5, %6, %7}" AFTER ::__VA_ARGS__, "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]) \
                 : "memory");                                                                                          \
  else                                                                                                                 \
    asm volatile(BEFORE "5d" MIDDLE "{%4, %5, %6, %7, %8}" AFTER ::__VA_ARGS__, "r"(c[0]), "r"(c[1]), "r"(c[2]),       \
                 "r"(c[3]), "r"(c[4])                                                                                  \
                 : "memory")

// Loads a box; its bytes count on `bar`. tma_load(tile, &map, &bar, column, row).
template <typename... Coordinates>
SASSAY_PTX void tma_load(void* shared, const CUtensorMap* map, uint64_t* bar, Coordinates... coordinates) {
  SASSAY_TMA("cp.async.bulk.tensor.", ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, ",
             "], [%2];", "r"(smem_addr(shared)), "l"(map), "r"(smem_addr(bar)), "n"(0));
}
template <typename... Coordinates>
SASSAY_PTX void tma_load_hint(void* shared, const CUtensorMap* map, uint64_t* bar, uint64_t policy,
                              Coordinates... coordinates) {
  SASSAY_TMA("cp.async.bulk.tensor.",
             ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, ", "], [%2], %3;",
             "r"(smem_addr(shared)), "l"(map), "r"(smem_addr(bar)), "l"(policy));
}
// To the same place, and the barrier at the same place, of every block of the cluster whose bit is set.
template <typename... Coordinates>
SASSAY_PTX void tma_load_multicast(void* shared, const CUtensorMap* map, uint64_t* bar, uint16_t blocks,
                                   Coordinates... coordinates) {
  SASSAY_TMA("cp.async.bulk.tensor.",
             ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, ", "], [%2], %3;",
             "r"(smem_addr(shared)), "l"(map), "r"(smem_addr(bar)), "h"(blocks));
}
// sm_100a: its bytes count on the barrier at the place of `bar` in the even block of this block's pair.
template <typename... Coordinates>
SASSAY_PTX void tma_load_pair(void* shared, const CUtensorMap* map, uint64_t* bar, Coordinates... coordinates) {
  SASSAY_TMA("cp.async.bulk.tensor.",
             ".shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::2 [%0], [%1, ", "], [%2];",
             "r"(smem_addr(shared)), "l"(map), "r"(mapa(bar, cluster_ctarank() & ~1u)), "n"(0));
}
template <typename... Coordinates>
SASSAY_PTX void tma_prefetch(const CUtensorMap* map, Coordinates... coordinates) {
  SASSAY_TMA("cp.async.bulk.prefetch.tensor.", ".L2.global.tile [%1, ", "];", "n"(0), "l"(map), "n"(0), "n"(0));
}
SASSAY_PTX void tma_prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Stores a box, or adds it (in the map's type). Before: writers call fence_proxy_async(), then a barrier. After:
// tma_commit_group(), and tma_wait_group_read<0>() before shared memory is used again or the block exits.
template <typename... Coordinates>
SASSAY_PTX void tma_store(const CUtensorMap* map, const void* shared, Coordinates... coordinates) {
  SASSAY_TMA("cp.async.bulk.tensor.", ".global.shared::cta.tile.bulk_group [%1, ", "], [%0];", "r"(smem_addr(shared)),
             "l"(map), "n"(0), "n"(0));
}
template <typename... Coordinates>
SASSAY_PTX void tma_reduce_add(const CUtensorMap* map, const void* shared, Coordinates... coordinates) {
  SASSAY_TMA("cp.reduce.async.bulk.tensor.", ".global.shared::cta.add.tile.bulk_group [%1, ", "], [%0];",
             "r"(smem_addr(shared)), "l"(map), "n"(0), "n"(0));
}
SASSAY_PTX void tma_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until all but the newest `kPending` groups of this thread have read their shared memory; have written, too.
template <int kPending>
SASSAY_PTX void tma_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
template <int kPending>
SASSAY_PTX void tma_wait_group() {
  asm volatile("cp.async.bulk.wait_group %0;" ::"n"(kPending) : "memory");
}
#undef SASSAY_TMA

// Contiguous bytes, without a map.
SASSAY_PTX void bulk_load(void* shared, const void* global, uint32_t bytes, uint64_t* bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   smem_addr(shared)),
               "l"(global), "r"(bytes), "r"(smem_addr(bar))
               : "memory");
}
SASSAY_PTX void bulk_load_multicast(void* shared, const void* global, uint32_t bytes, uint64_t* bar, uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
      "%4;" ::"r"(smem_addr(shared)),
      "l"(global), "r"(bytes), "r"(smem_addr(bar)), "h"(blocks)
      : "memory");
}
SASSAY_PTX void bulk_prefetch(const void* global, uint32_t bytes) {
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(global), "r"(bytes) : "memory");
}
// Fences and groups as for tma_store.
SASSAY_PTX void bulk_store(void* global, const void* shared, uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global), "r"(smem_addr(shared)),
               "r"(bytes)
               : "memory");
}
SASSAY_PTX void bulk_reduce_add_f32(float* global, const void* shared, uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(global),
               "r"(smem_addr(shared)), "r"(bytes)
               : "memory");
}
SASSAY_PTX void bulk_reduce_add_bf16(__nv_bfloat16* global, const void* shared, uint32_t bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%0], [%1], %2;" ::"l"(global),
               "r"(smem_addr(shared)), "r"(bytes)
               : "memory");
}
// From this block's shared memory to block `rank`'s, whose barrier `bar` counts the bytes.
SASSAY_PTX void bulk_copy_cluster(void* to, uint32_t rank, const void* from, uint32_t bytes, uint64_t* bar) {
  asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   mapa(to, rank)),
               "r"(smem_addr(from)), "r"(bytes), "r"(mapa(bar, rank))
               : "memory");
}

}  // namespace sassay::ptx
