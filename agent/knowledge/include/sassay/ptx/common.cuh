// Thin wrappers of PTX, one function per instruction; using namespace sassay::ptx. Thread numbers assume 1-D blocks.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#define SASSAY_PTX __device__ __forceinline__

namespace sassay::ptx {

// What a matrix instruction multiplies. One instruction takes 32 bytes along K: 16 bf16, 8 tf32, 32 e4m3 or s8.
enum class In { bf16, f16, tf32, e4m3, e5m2, s8, u8 };
// Along which dimension a factor (A: M x K, B: N x K) is contiguous in shared memory; mn for bf16 and f16 only.
enum class Major { k, mn };
// Rows of this many bytes, whose 16-byte pieces are permuted within 8 rows. none: blocks of 8 rows x 16 bytes.
enum class Swizzle { none = 16, b32 = 32, b64 = 64, b128 = 128 };

// Where byte `offset` of a packed tile lies; the tile starts at a 1024-byte border. b128: piece ^= row % 8.
template <Swizzle kSwizzle>
SASSAY_PTX uint32_t swizzled(uint32_t offset) {
  return offset ^ (offset >> 3 & (static_cast<uint32_t>(kSwizzle) / 16 - 1) << 4);
}

SASSAY_PTX uint32_t smem_addr(const void* shared) { return static_cast<uint32_t>(__cvta_generic_to_shared(shared)); }

// The dynamic shared memory, at a 1024-byte border, as swizzled tiles need it.
template <typename T>
SASSAY_PTX T& dynamic_smem() {
  extern __shared__ __align__(1024) uint8_t sassay_dynamic_smem[];
  return *reinterpret_cast<T*>(sassay_dynamic_smem);
}

SASSAY_PTX int lane_id() { return threadIdx.x % 32; }
// Known to the compiler as the same in all lanes.
SASSAY_PTX int warp_id() { return __shfl_sync(~0u, threadIdx.x / 32, 0); }
SASSAY_PTX int warpgroup_id() { return __shfl_sync(~0u, threadIdx.x / 128, 0); }

// Keeps the compiler from moving uses of registers that an asynchronous instruction fills above the wait before this.
template <typename T, int kCount>
SASSAY_PTX void pin_registers(T (&r)[kCount]) {
  for (T& x : r) {
    if constexpr (T(0.5f) == 0)
      asm volatile("" : "+r"(x)::"memory");
    else
      asm volatile("" : "+f"(x)::"memory");
  }
}

// True in one lane of a converged warp.
SASSAY_PTX bool elect_one() {
  uint32_t elected;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(elected));
  return elected != 0;
}

// Makes this thread's writes visible to TMA, wgmma and tcgen05; then a barrier, then one thread may start them.
SASSAY_PTX void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
SASSAY_PTX void fence_proxy_async_global() { asm volatile("fence.proxy.async.global;" ::: "memory"); }

// Named barriers 1 to 15 (0 is __syncthreads); `threads` counts those who sync and those who only arrive.
SASSAY_PTX void named_barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
SASSAY_PTX void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Registers a thread, a multiple of 8; every warp of the warpgroup calls it. Needs __launch_bounds__.
template <int kRegisters>
SASSAY_PTX void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
SASSAY_PTX void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Clusters. No block may exit while another still reaches into its shared memory: cluster_sync() at the end.
SASSAY_PTX uint32_t cluster_ctarank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
SASSAY_PTX uint32_t cluster_nctarank() {
  uint32_t blocks;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
  return blocks;
}
SASSAY_PTX void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
SASSAY_PTX void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
SASSAY_PTX void cluster_sync() {
  cluster_arrive();
  cluster_wait();
}
// Address of the same variable in block `rank` of the cluster.
SASSAY_PTX uint32_t mapa(const void* shared, uint32_t rank) {
  uint32_t address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(smem_addr(shared)), "r"(rank));
  return address;
}
SASSAY_PTX uint32_t ld_cluster(uint32_t mapped) {
  uint32_t value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(mapped) : "memory");
  return value;
}
SASSAY_PTX void st_cluster(uint32_t mapped, uint32_t value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(mapped), "r"(value) : "memory");
}

// Programmatic dependent launch.
SASSAY_PTX void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
SASSAY_PTX void griddepcontrol_launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// 16 bytes from global to shared memory, Ampere's way; bytes beyond `valid` become 0.
SASSAY_PTX void cp_async_16(void* shared, const void* global, uint32_t valid = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(smem_addr(shared)), "l"(global), "r"(valid)
               : "memory");
}
SASSAY_PTX void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
SASSAY_PTX void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Four 8 x 8 matrices of 16-bit elements; lane l names the place of row l % 8 of matrix l / 8.
SASSAY_PTX void ldmatrix_x4(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(smem_addr(row))
               : "memory");
}
SASSAY_PTX void ldmatrix_x4_trans(uint32_t (&r)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(smem_addr(row))
               : "memory");
}
SASSAY_PTX void stmatrix_x4(void* row, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(smem_addr(row)), "r"(r0),
               "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}
SASSAY_PTX void stmatrix_x4_trans(void* row, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(smem_addr(row)), "r"(r0),
               "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

SASSAY_PTX uint32_t pack_bf16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
SASSAY_PTX uint32_t pack_f16(float low, float high) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
SASSAY_PTX float ex2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
SASSAY_PTX float lg2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace sassay::ptx
