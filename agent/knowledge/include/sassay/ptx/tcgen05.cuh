// tcgen05: one thread starts D += A * B^T; D lies in tensor memory, 128 lanes x 512 columns of 4 bytes per
// multiprocessor, an address being lane << 16 | column. kCtas = 2: blocks 2r and 2r + 1 of a cluster work as a pair on
// one product: each brings half of A's rows and half of B's, and holds its half of D's rows; the even one starts it.
//   producer: tma_load… on full; one thread: mbarrier_wait(full), tcgen05_fence_after_thread_sync(), tcgen05_mma…,
//   tcgen05_commit(empty), at the end tcgen05_commit(done); four warps: mbarrier_wait(done),
//   tcgen05_fence_after_thread_sync(), tcgen05_ld(r, …), tcgen05_wait_ld(r)
//   A pair: both producers tma_load_pair, the even one expects the bytes of both; commits by multicast, mask 3;
//   M = 128: row r of a block's 64 in lane r, and from lane 64 on again with the second half of D's columns.
#pragma once

#include "common.cuh"
#include "detail/operands.cuh"

namespace sassay::ptx {

// One whole warp allocates 32, 64, 128, 256 or 512 columns; their address appears in `*shared`, to be read after a
// barrier. The same warp frees them before the block ends. kCtas = 2: one warp of each block.
template <int kCtas = 1>
SASSAY_PTX void tcgen05_alloc(uint32_t* shared, uint32_t columns) {
  asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(smem_addr(shared)),
               "r"(columns), "n"(kCtas)
               : "memory");
}
template <int kCtas = 1>
SASSAY_PTX void tcgen05_dealloc(uint32_t address, uint32_t columns) {
  asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address), "r"(columns), "n"(kCtas)
               : "memory");
}
// This block will allocate no more, so the multiprocessor's next block may. One whole warp.
template <int kCtas = 1>
SASSAY_PTX void tcgen05_relinquish_alloc_permit() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(kCtas) : "memory");
}

// Before and after a barrier (of any kind) that orders tcgen05 of one thread against tcgen05 of another.
SASSAY_PTX void tcgen05_fence_before_thread_sync() { asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory"); }
SASSAY_PTX void tcgen05_fence_after_thread_sync() { asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory"); }

// Where a factor lies in shared memory. Tiles start at 1024-byte borders. Without swizzle, Major::k: leading_bytes from
// a block of 8 rows x 16 bytes to the next along K, stride_bytes along M or N.
template <Swizzle kSwizzle>
SASSAY_PTX uint64_t tcgen05_desc(const void* tile, uint32_t leading_bytes, uint32_t stride_bytes) {
  constexpr uint64_t kMode = kSwizzle == Swizzle::b128  ? 2
                             : kSwizzle == Swizzle::b64 ? 4
                             : kSwizzle == Swizzle::b32 ? 6
                                                        : 0;
  return (smem_addr(tile) & 0x3FFFF) >> 4 | uint64_t{leading_bytes >> 4} << 16 | uint64_t{stride_bytes >> 4} << 32 |
         uint64_t{1} << 46 | kMode << 61;
}
// Major::k, as TMA brings a box {swizzle's bytes of K, rows}: packed rows. One instruction's K further: + 2 (32 bytes).
template <Swizzle kSwizzle = Swizzle::b128>
SASSAY_PTX uint64_t tcgen05_desc_k(const void* tile) {
  static_assert(kSwizzle != Swizzle::none, "give tcgen05_desc the bytes between blocks along K and along M or N");
  return tcgen05_desc<kSwizzle>(tile, 16, 8 * static_cast<uint32_t>(kSwizzle));
}
// Major::mn, as TMA brings boxes {swizzle's bytes of M or N, rows of K}, `next_bytes` from box to box along M or N. One
// instruction's K (16 rows) further: + swizzle's bytes, 128 under b128.
template <Swizzle kSwizzle = Swizzle::b128>
SASSAY_PTX uint64_t tcgen05_desc_mn(const void* tile, uint32_t next_bytes) {
  static_assert(kSwizzle != Swizzle::none, "give tcgen05_desc the bytes between blocks along K and along M or N");
  return tcgen05_desc<kSwizzle>(tile, next_bytes, 8 * static_cast<uint32_t>(kSwizzle));
}

// Types and shape. D is fp32 (int32 for s8 and u8). M: 128 (N a multiple of 16 to 256), 64 (N of 8); of a pair 256 or
// 128 (N of 32).
template <In kIn, Major kA = Major::k, Major kB = Major::k>
__host__ __device__ constexpr uint32_t tcgen05_idesc(int m, int n) {
  static_assert(kIn == In::bf16 || kIn == In::f16 || (kA == Major::k && kB == Major::k),
                "only bf16 and f16 may lie along M or N");
  constexpr bool kInteger = kIn == In::s8 || kIn == In::u8;
  constexpr uint32_t kType = kIn == In::tf32 ? 2 : kIn == In::bf16 || kIn == In::e5m2 || kIn == In::s8 ? 1 : 0;
  return (kInteger ? 2u : 1u) << 4 | kType << 7 | kType << 10 | uint32_t{kA == Major::mn} << 15 |
         uint32_t{kB == Major::mn} << 16 | static_cast<uint32_t>(n) / 8 << 17 | static_cast<uint32_t>(m) / 16 << 24;
}

namespace detail {
template <In kIn>
struct Kind {
  static constexpr char kText[] = "f8f6f4";
};
template <>
struct Kind<In::bf16> {
  static constexpr char kText[] = "f16";
};
template <>
struct Kind<In::f16> : Kind<In::bf16> {};
template <>
struct Kind<In::tf32> {
  static constexpr char kText[] = "tf32";
};
template <>
struct Kind<In::s8> {
  static constexpr char kText[] = "i8";
};
template <>
struct Kind<In::u8> : Kind<In::s8> {};
}  // namespace detail

// One thread. d: D's address; row r in lane r, column c in column c (M = 64: row r in lane r / 16 * 32 + r % 16).
// `accumulate` false: D is replaced. A by descriptor:
template <In kIn, int kCtas = 1>
SASSAY_PTX void tcgen05_mma(uint32_t d, uint64_t a, uint64_t b, uint32_t idesc, bool accumulate = true) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::%5.kind::%6 [%0], %1, %2, %3, p; }" ::"r"(d),
      "l"(a), "l"(b), "r"(idesc), "r"(static_cast<int>(accumulate)), "n"(kCtas), "C"(detail::Kind<kIn>::kText)
      : "memory");
}
// A in tensor memory: row r in lane r, its elements packed along the columns.
template <In kIn, int kCtas = 1>
SASSAY_PTX void tcgen05_mma_ts(uint32_t d, uint32_t a, uint64_t b, uint32_t idesc, bool accumulate = true) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %4, 0; tcgen05.mma.cta_group::%5.kind::%6 [%0], [%1], %2, %3, p; }" ::"r"(d),
      "r"(a), "l"(b), "r"(idesc), "r"(static_cast<int>(accumulate)), "n"(kCtas), "C"(detail::Kind<kIn>::kText)
      : "memory");
}

// Arrives once on `bar` when all that this thread has started is done: products (D may be read, A and B overwritten)
// and tcgen05_cp. Orders them by itself; no fence before it.
template <int kCtas = 1>
SASSAY_PTX void tcgen05_commit(uint64_t* bar) {
  asm volatile("tcgen05.commit.cta_group::%1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(smem_addr(bar)),
               "n"(kCtas)
               : "memory");
}
// On the barrier at the same place of every block of the cluster whose bit is set.
template <int kCtas = 1>
SASSAY_PTX void tcgen05_commit_multicast(uint64_t* bar, uint16_t blocks) {
  asm volatile(
      "tcgen05.commit.cta_group::%2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::"r"(
          smem_addr(bar)),
      "h"(blocks), "n"(kCtas)
      : "memory");
}

// Shared to tensor memory: 128 lanes of 32 bytes, or of 16; one thread.
template <int kCtas = 1>
SASSAY_PTX void tcgen05_cp_128x256b(uint32_t address, uint64_t desc) {
  asm volatile("tcgen05.cp.cta_group::%2.128x256b [%0], %1;" ::"r"(address), "l"(desc), "n"(kCtas) : "memory");
}
template <int kCtas = 1>
SASSAY_PTX void tcgen05_cp_128x128b(uint32_t address, uint64_t desc) {
  asm volatile("tcgen05.cp.cta_group::%2.128x128b [%0], %1;" ::"r"(address), "l"(desc), "n"(kCtas) : "memory");
}

// Tensor memory to registers and back, a whole warp; warp w reaches lanes w % 4 * 32 to w % 4 * 32 + 31, and the
// address names the first one. b32x32: lane l gets column i of its lane in r[i]; kCount = 1, 2, 4 … 128. b16x256 and
// b16x128: 16 lanes; r[i] is row l / 4 + i / 2 % 2 * 8, column i / 4 * 8 + l % 4 * 2 + i % 2 (as wgmma's D), or row l /
// 4 + i % 2 * 8, column i / 2 * 4 + l % 4.
enum class Lanes { b32x32, b16x128, b16x256 };
namespace detail {
template <Lanes kLanes>
struct Shape {
  static constexpr char kText[] = "32x32b";
  static constexpr int kRegisters = 1;
};
template <>
struct Shape<Lanes::b16x128> {
  static constexpr char kText[] = "16x128b";
  static constexpr int kRegisters = 2;
};
template <>
struct Shape<Lanes::b16x256> {
  static constexpr char kText[] = "16x256b";
  static constexpr int kRegisters = 4;
};
}  // namespace detail
#define SASSAY_LD(R, i0, i1, i2)                                                                     \
  if constexpr (kCount == R)                                                                         \
    asm volatile("tcgen05.ld.sync.aligned.%" #i1 ".x%" #i2 ".b32 {" SASSAY_LIST_##R "}, [%" #i0 "];" \
                 : SASSAY_EACH_##R(SASSAY_D, r)                                                      \
                 : "r"(address), "C"(Shape::kText), "n"(R / Shape::kRegisters)                       \
                 : "memory");
template <Lanes kLanes = Lanes::b32x32, int kCount>
SASSAY_PTX void tcgen05_ld(uint32_t (&r)[kCount], uint32_t address) {
  using Shape = detail::Shape<kLanes>;
#define SASSAY_D "=r"
  SASSAY_TCGEN05_COUNTS(SASSAY_LD)
#undef SASSAY_D
}
template <Lanes kLanes = Lanes::b32x32, int kCount>
SASSAY_PTX void tcgen05_ld(float (&r)[kCount], uint32_t address) {
  using Shape = detail::Shape<kLanes>;
#define SASSAY_D "=f"
  SASSAY_TCGEN05_COUNTS(SASSAY_LD)
#undef SASSAY_D
}
#undef SASSAY_LD
#define SASSAY_ST(R, i0, i1, i2)                                                                \
  if constexpr (kCount == R)                                                                    \
    asm volatile("tcgen05.st.sync.aligned.%" #i1 ".x%" #i2 ".b32 [%" #i0 "], {" SASSAY_LIST_##R \
                 "};" ::SASSAY_EACH_##R(SASSAY_D, r),                                           \
                 "r"(address), "C"(Shape::kText), "n"(R / Shape::kRegisters)                    \
                 : "memory");
template <Lanes kLanes = Lanes::b32x32, int kCount>
SASSAY_PTX void tcgen05_st(uint32_t address, const uint32_t (&r)[kCount]) {
  using Shape = detail::Shape<kLanes>;
#define SASSAY_D "r"
  SASSAY_TCGEN05_COUNTS(SASSAY_ST)
#undef SASSAY_D
}
#undef SASSAY_ST
// After tcgen05_ld, before its registers are used: tcgen05_wait_ld(r); after tcgen05_st, before others see what it
// wrote.
template <typename... Registers>
SASSAY_PTX void tcgen05_wait_ld(Registers&... r) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  (pin_registers(r), ...);
}
SASSAY_PTX void tcgen05_wait_st() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

}  // namespace sassay::ptx
