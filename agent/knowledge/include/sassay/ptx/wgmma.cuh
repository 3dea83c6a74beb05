// wgmma: a warpgroup (128 threads, all of them) multiplies out of shared memory, asynchronously:
//   wgmma_fence(); wgmma<In::bf16>(d, a, b, accumulate)…; wgmma_commit_group(); wgmma_wait_group<0>();
//   pin_registers(d);
// Between fence and wait nobody may touch d, nor the registers of A, nor the tiles. D: 64 x N, N = 2 * kCount.
#pragma once

#include "common.cuh"
#include "detail/operands.cuh"

namespace sassay::ptx {

SASSAY_PTX void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
SASSAY_PTX void wgmma_commit_group() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until all but the newest `kPending` groups are done.
template <int kPending>
SASSAY_PTX void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
// The place in D of a thread's d[i].
SASSAY_PTX int wgmma_row(int i) { return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + i % 4 / 2 * 8; }
SASSAY_PTX int wgmma_column(int i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }

// Where a factor lies. Tiles start at 1024-byte borders. Without swizzle, Major::k: leading_bytes from a
// block of 8 rows x 16 bytes to the next along K, stride_bytes along M or N.
template <Swizzle kSwizzle>
SASSAY_PTX uint64_t wgmma_desc(const void* tile, uint32_t leading_bytes, uint32_t stride_bytes) {
  constexpr uint64_t kMode = kSwizzle == Swizzle::b128  ? 1
                             : kSwizzle == Swizzle::b64 ? 2
                             : kSwizzle == Swizzle::b32 ? 3
                                                        : 0;
  return (smem_addr(tile) & 0x3FFFF) >> 4 | uint64_t{leading_bytes >> 4} << 16 | uint64_t{stride_bytes >> 4} << 32 |
         kMode << 62;
}
// Major::k, as TMA brings a box {swizzle's bytes of K, rows}: packed rows. One instruction's K further: + 2 (32 bytes).
template <Swizzle kSwizzle = Swizzle::b128>
SASSAY_PTX uint64_t wgmma_desc_k(const void* tile) {
  static_assert(kSwizzle != Swizzle::none, "give wgmma_desc the bytes between blocks along K and along M or N");
  return wgmma_desc<kSwizzle>(tile, 16, 8 * static_cast<uint32_t>(kSwizzle));
}
// Major::mn, as TMA brings boxes {swizzle's bytes of M or N, rows of K}, `next_bytes` from box to box along M or N. One
// instruction's K (16 rows) further: + swizzle's bytes, 128 under b128.
template <Swizzle kSwizzle = Swizzle::b128>
SASSAY_PTX uint64_t wgmma_desc_mn(const void* tile, uint32_t next_bytes) {
  static_assert(kSwizzle != Swizzle::none, "give wgmma_desc the bytes between blocks along K and along M or N");
  return wgmma_desc<kSwizzle>(tile, next_bytes, 8 * static_cast<uint32_t>(kSwizzle));
}

namespace detail {
// What follows the predicate: the factors' signs, then, for 16-bit types, their Major.
template <Major kA, Major kB>
struct Half {
  static constexpr char kAcrossA = kA == Major::mn ? '1' : '0', kAcrossB = kB == Major::mn ? '1' : '0';
  static constexpr char kShared[] = {',', '1', ',', '1', ',', kAcrossA, ',', kAcrossB, 0};
  static constexpr char kRegisters[] = {',', '1', ',', '1', ',', kAcrossB, 0};
};
template <Major kA, Major kB>
struct Float {
  static_assert(kA == Major::k && kB == Major::k, "only bf16 and f16 may lie along M or N");
  static constexpr char kShared[] = ", 1, 1", kRegisters[] = ", 1, 1";
};
template <Major kA, Major kB>
struct Integer {
  static_assert(kA == Major::k && kB == Major::k, "only bf16 and f16 may lie along M or N");
  static constexpr char kShared[] = "", kRegisters[] = "";
};
template <In kIn, Major kA, Major kB>
struct Wgmma;
#define SASSAY_WGMMA(IN, TAIL, TYPES)           \
  template <Major kA, Major kB>                 \
  struct Wgmma<In::IN, kA, kB> : TAIL<kA, kB> { \
    static constexpr char kTypes[] = TYPES;     \
  };
SASSAY_WGMMA(bf16, Half, "k16.f32.bf16.bf16")
SASSAY_WGMMA(f16, Half, "k16.f32.f16.f16")
SASSAY_WGMMA(tf32, Float, "k8.f32.tf32.tf32")
SASSAY_WGMMA(e4m3, Float, "k32.f32.e4m3.e4m3")
SASSAY_WGMMA(e5m2, Float, "k32.f32.e5m2.e5m2")
SASSAY_WGMMA(s8, Integer, "k32.s32.s8.s8")
SASSAY_WGMMA(u8, Integer, "k32.s32.u8.u8")
#undef SASSAY_WGMMA
}  // namespace detail

// d += A * B^T, or d = A * B^T where `accumulate` is false. N = 2 * kCount: 8 to 256 in steps of 8; for s8 and u8 d is
// int32_t and N is 8, 16, 24, 32 or a multiple of 16. A (64 x K of one instruction) and B (N x K) by descriptor:
#define SASSAY_WGMMA(N, R, i0, i1, i2, i3, i4, i5, i6, i7)                                                   \
  if constexpr (kCount == R)                                                                                 \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #i2 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N "%" #i3 \
                 " {" SASSAY_LIST_##R "}, %" #i0 ", %" #i1 ", p%" #i4 "; }"                                  \
                 : SASSAY_EACH_##R(SASSAY_D, d)                                                              \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "C"(Text::kTypes), "C"(Text::kShared));
template <In kIn, Major kA = Major::k, Major kB = Major::k, int kCount>
SASSAY_PTX void wgmma(float (&d)[kCount], uint64_t a, uint64_t b, bool accumulate = true) {
  using Text = detail::Wgmma<kIn, kA, kB>;
#define SASSAY_D "+f"
  SASSAY_WGMMA_COUNTS(SASSAY_WGMMA)
#undef SASSAY_D
}
template <In kIn, int kCount>
SASSAY_PTX void wgmma(int32_t (&d)[kCount], uint64_t a, uint64_t b, bool accumulate = true) {
  using Text = detail::Wgmma<kIn, Major::k, Major::k>;
#define SASSAY_D "+r"
  SASSAY_WGMMA_COUNTS(SASSAY_WGMMA)
#undef SASSAY_D
}
#undef SASSAY_WGMMA

// The same with A in registers. a[0] and a[1]: rows l / 4 and l / 4 + 8 (l = lane) of the warp's 16, 4 bytes from byte
// l % 4 * 4 of K; a[2] and a[3]: the same 16 bytes further. So 16 columns of a product, packed in order with
// pack_bf16(d[i], d[i + 1]), are the A of the next.
#define SASSAY_WGMMA(N, R, i0, i1, i2, i3, i4, i5, i6, i7)                                                   \
  if constexpr (kCount == R)                                                                                 \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #i5 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N "%" #i6 \
                 " {" SASSAY_LIST_##R "}, {%" #i0 ", %" #i1 ", %" #i2 ", %" #i3 "}, %" #i4 ", p%" #i7 "; }"  \
                 : SASSAY_EACH_##R(SASSAY_D, d)                                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)),    \
                   "C"(Text::kTypes), "C"(Text::kRegisters));
template <In kIn, Major kB = Major::k, int kCount>
SASSAY_PTX void wgmma(float (&d)[kCount], const uint32_t (&a)[4], uint64_t b, bool accumulate = true) {
  using Text = detail::Wgmma<kIn, Major::k, kB>;
#define SASSAY_D "+f"
  SASSAY_WGMMA_COUNTS(SASSAY_WGMMA)
#undef SASSAY_D
}
template <In kIn, int kCount>
SASSAY_PTX void wgmma(int32_t (&d)[kCount], const uint32_t (&a)[4], uint64_t b, bool accumulate = true) {
  using Text = detail::Wgmma<kIn, Major::k, Major::k>;
#define SASSAY_D "+r"
  SASSAY_WGMMA_COUNTS(SASSAY_WGMMA)
#undef SASSAY_D
}
#undef SASSAY_WGMMA

}  // namespace sassay::ptx
