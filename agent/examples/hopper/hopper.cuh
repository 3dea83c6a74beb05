// What Hopper adds for tensor work, one thin function per PTX instruction: mbarriers, TMA, wgmma, and what goes with
// them. The kernels beside this file are built from it.
//
// A tile is a piece of a row-major bf16 matrix in shared memory, in slabs of 64 columns: 128 bytes a row, rows packed.
// TMA writes and wgmma reads slabs under the 128-byte swizzle: 16-byte piece p of row r lies at piece p ^ (r % 8), so
// neither meets itself in one bank. The pattern goes by the address and repeats every eight rows (1024 bytes), so every
// slab starts at such a border.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

using Bf16 = __nv_bfloat16;
using Barrier = uint64_t;

constexpr int kWarp = 32, kWarpgroup = 128;  // threads; a warpgroup is what executes a wgmma
constexpr int kSlab = 64;                    // columns: one row of the 128-byte swizzle

__device__ inline uint32_t Address(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// Which warpgroup one belongs to. After the shuffle the compiler knows that its warp has one answer, and works out what
// follows from it, wgmma's descriptors above all, in uniform registers, once for the warp.
__device__ inline int Warpgroup() { return __shfl_sync(~0u, threadIdx.x / kWarpgroup, 0); }

// Shared memory given at the launch, from the next 1024-byte border on.
template <typename Shared>
__device__ Shared& DynamicShared() {
  extern __shared__ __align__(1024) uint8_t memory[];
  return *reinterpret_cast<Shared*>(memory);
}

// ---- mbarriers: a phase is over when all have arrived and all bytes that were announced have come.

__device__ inline void Init(Barrier& barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(Address(&barrier)), "r"(arrivals) : "memory");
}

// TMA works through another proxy, a path of its own to memory, which must see the barriers too.
__device__ inline void FenceInit() {
  asm volatile("fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void Arrive(Barrier& barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(Address(&barrier)) : "memory");
}

// One lane speaks for its warp.
__device__ inline void ArriveWarp(Barrier& barrier) {
  if (threadIdx.x % kWarp == 0) Arrive(barrier);
}

__device__ inline void ArriveExpecting(Barrier& barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(Address(&barrier)), "r"(bytes)
               : "memory");
}

// Waits until the phase of this parity is over. Phases count from 0; before the first, "phase -1" (parity 1) is over.
__device__ inline void Wait(Barrier& barrier, int parity) {
  asm volatile(
      "{ .reg .pred over;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 over, [%0], %1;\n"
      "@!over bra again; }" ::"r"(Address(&barrier)),
      "r"(parity)
      : "memory");
}

// Where one is in a ring of stages, each with a barrier `full` and a barrier `empty`.
template <int kStages>
struct Place {
  int stage = 0, parity = 0;
  __device__ void Advance() {
    if (++stage == kStages) stage = 0, parity ^= 1;
  }
};

// ---- Named barriers (0 is __syncthreads): `threads` arrive, those who Sync also wait.

__device__ inline void SyncNamed(int name, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}
__device__ inline void ArriveNamed(int name, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

// ---- Registers are handed from warpgroups that need few to those that need many. All its warps must ask.

template <int kRegisters>
__device__ void GiveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ void TakeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- TMA: one thread asks for a box of a tensor. Outside the tensor, zeros come (and count) and nothing is stored.

// All tensors here have four dimensions, innermost first: column in the slab, row, slab, matrix. So one box is a tile.
__device__ inline void Fetch(Bf16* tile, const CUtensorMap& map, int row, int slab, int matrix, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(Address(tile)),
      "l"(&map), "r"(0), "r"(row), "r"(slab), "r"(matrix), "r"(Address(&barrier))
      : "memory");
}

__device__ inline void FetchBytes(void* to, const void* from, int bytes, Barrier& barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(Address(to)),
      "l"(from), "r"(bytes), "r"(Address(&barrier))
      : "memory");
}

__device__ inline void Store(const Bf16* tile, const CUtensorMap& map, int row, int slab, int matrix) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%1, %2, %3, %4}], [%5];\n"
      "cp.async.bulk.commit_group;" ::"l"(&map),
      "r"(0), "r"(row), "r"(slab), "r"(matrix), "r"(Address(tile))
      : "memory");
}

// Until the stores that this thread asked for have read their tiles.
__device__ inline void WaitForStores() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

// What threads wrote to shared memory becomes visible to TMA. Then a barrier, then one thread may Store.
__device__ inline void FenceBeforeStore() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- wgmma: d (64 x n, fp32, in registers) += a (64 x 16) * b (n x 16)^T, asynchronous. Registers are the hardware's
// from the first wgmma until WaitForProducts.

// The place in d of a thread's register i.
__device__ inline int RowOf(int i) {
  return threadIdx.x % kWarpgroup / kWarp * 16 + threadIdx.x % kWarp / 4 + i % 4 / 2 * 8;
}
__device__ inline int ColumnOf(int i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }

// A tile whose rows run along K. Sixteen columns further is kStepK further (the hardware swizzles the sum of
// addresses); addresses count in units of 16 bytes.
constexpr uint64_t kStepK = 16 * sizeof(Bf16) >> 4;
__device__ inline uint64_t AlongK(const Bf16* slab) {
  uint64_t descriptor = (Address(slab) & 0x3FFFF) >> 4;  // bits 0-13: start
  descriptor |= uint64_t{1} << 16;                       // bits 16-29: leading offset, not used here
  descriptor |= uint64_t{1024 >> 4} << 32;               // bits 32-45: from one group of eight rows to the next
  descriptor |= uint64_t{1} << 62;                       // bits 62-63: 1 is the 128-byte swizzle
  return descriptor;                                     // bits 49-51, the base offset: 0 at 1024-byte borders
}

// A tile whose rows run along M or N, of `rows` rows (which count along K). Sixteen rows further is kStepRows.
constexpr uint64_t kStepRows = 16 * kSlab * sizeof(Bf16) >> 4;
__device__ inline uint64_t AcrossK(const Bf16* tile, int rows) {
  const uint64_t slab_bytes = rows * kSlab * sizeof(Bf16);
  return (AlongK(tile) & ~(uint64_t{0x3FFF} << 16)) | (slab_bytes >> 4) << 16;  // leading offset: to the next slab
}

__device__ inline void BeginProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void CommitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Until all but the newest `kPending` groups are done.
template <int kPending>
__device__ void WaitForProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// The compiler may not move a use of these registers over this line.
template <int kCount>
__device__ void Pin(float (&registers)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

// The numbers of asm operands, and the operands.
#define TEN(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define UP_TO_29 TEN() TEN(1) TEN(2)
#define UP_TO_59 UP_TO_29 TEN(3) TEN(4) TEN(5)
#define UP_TO_119 UP_TO_59 TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11)
#define D8(i)                                                                                                 \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define D32(i) D8(i), D8(i + 8), D8(i + 16), D8(i + 24)

// n = 64, 128 and 256, both factors in shared memory, rows along K. `add` 0: the product replaces d.
__device__ inline void Multiply(float (&d)[32], uint64_t a, uint64_t b, int add) {
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" UP_TO_29
      "%30, %31},\n"
      "%32, %33, add, 1, 1, 0, 0; }"
      : D32(0)
      : "l"(a), "l"(b), "r"(add));
}

__device__ inline void Multiply(float (&d)[64], uint64_t a, uint64_t b, int add) {
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" UP_TO_59
      "%60, %61, %62, %63},\n"
      "%64, %65, add, 1, 1, 0, 0; }"
      : D32(0), D32(32)
      : "l"(a), "l"(b), "r"(add));
}

__device__ inline void Multiply(float (&d)[128], uint64_t a, uint64_t b, int add) {
  asm volatile(
      "{ .reg .pred add; setp.ne.b32 add, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" UP_TO_119
      "%120, %121, %122, %123, %124, %125, %126, %127},\n"
      "%128, %129, add, 1, 1, 0, 0; }"
      : D32(0), D32(32), D32(64), D32(96)
      : "l"(a), "l"(b), "r"(add));
}

// n = 128, a in registers (see Pack), b across K.
__device__ inline void MultiplyAcross(float (&d)[64], const uint32_t* a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" UP_TO_59
               "%60, %61, %62, %63},\n"
               "{%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
               : D32(0), D32(32)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
#undef D32
#undef D8
#undef UP_TO_119
#undef UP_TO_59
#undef UP_TO_29
#undef TEN

// 2^x in one instruction: exp2f would take care of denormal numbers.
__device__ inline float Exp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// Two neighbours of a product as bf16. So packed, sixteen columns of d are the four registers of a factor a.
__device__ inline uint32_t Pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const uint32_t&>(pair);
}

template <int kCount>
__device__ void Pack(uint32_t (&packed)[kCount], const float (&d)[2 * kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) packed[i] = Pack(d[2 * i], d[2 * i + 1]);
}

// Writes 64 columns of a product (d[0] to d[31]) times `factor` into a slab of 64 rows, ready for Store. stmatrix takes
// four 8 x 8 matrices at once; lane l names the place of row l % 8 of matrix l / 8.
__device__ inline void WriteSlab(Bf16* slab, const float* d, float factor) {
  const int lane = threadIdx.x % kWarp, row = threadIdx.x % kWarpgroup / kWarp * 16 + lane % 16;
#pragma unroll
  for (int i = 0; i < 32; i += 8) {
    const int piece = i / 4 + lane / 16;
    const uint32_t place = Address(slab + row * kSlab + (piece ^ row % 8) * 8);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(place),
                 "r"(Pack(d[i] * factor, d[i + 1] * factor)), "r"(Pack(d[i + 2] * factor, d[i + 3] * factor)),
                 "r"(Pack(d[i + 4] * factor, d[i + 5] * factor)), "r"(Pack(d[i + 6] * factor, d[i + 7] * factor))
                 : "memory");
  }
}

// ---- Host

// Describes `matrices` row-major matrices, one behind the other, whose boxes are tiles of `box_rows` rows and
// `box_slabs` slabs.
inline bool Encode(CUtensorMap& map, const Bf16* tensor, uint64_t rows, uint64_t columns, uint64_t matrices,
                   uint32_t box_rows, uint32_t box_slabs) {
  void* function = nullptr;  // of the driver's library, which a candidate does not link
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  if (function == nullptr || found != cudaDriverEntryPointSuccess) return false;
  const cuuint64_t sizes[] = {kSlab, rows, columns / kSlab, matrices};
  const cuuint64_t strides[] = {columns * sizeof(Bf16), kSlab * sizeof(Bf16), rows * columns * sizeof(Bf16)};
  const cuuint32_t box[] = {kSlab, box_rows, box_slabs, 1}, every[] = {1, 1, 1, 1};
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
             &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 4, const_cast<Bf16*>(tensor), sizes, strides, box, every,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}
