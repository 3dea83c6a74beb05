// One kernel per family of intrinsics. Each writes rows of results; intrinsics_test.cc computes what they must be.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace cg = cooperative_groups;
typedef unsigned u32;
typedef unsigned long long u64;

#pragma nv_diag_suppress 550
#define OUT(k) out[(k) * blockDim.x + threadIdx.x]

// ---- integers: a, b, c -> rows ----
extern "C" __global__ void integer_bits(const u32* a_, const u32* b_, const u32* c_, u32* out) {
  const u32 a = a_[threadIdx.x], b = b_[threadIdx.x], c = c_[threadIdx.x];
  OUT(0) = __dp4a((int)a, (int)b, (int)c);
  OUT(1) = __dp4a(a, b, c);
  OUT(2) = __dp2a_lo((int)a, (int)b, (int)c);
  OUT(3) = __dp2a_hi(a, b, c);
  OUT(4) = __byte_perm(a, b, c & 0x7777);
  OUT(5) = __brev(a);
  OUT(6) = __ffs(a);
  OUT(7) = __clz(a);
  OUT(8) = __popc(a);
  OUT(9) = __funnelshift_l(a, b, c);
  OUT(10) = __funnelshift_r(a, b, c);
  OUT(11) = __funnelshift_lc(a, b, c & 63);
  OUT(12) = __funnelshift_rc(a, b, c & 63);
  OUT(13) = __umul24(a, b);
  OUT(14) = __mul24((int)a, (int)b);
  OUT(15) = __sad((int)a, (int)b, c);
  OUT(16) = __usad(a, b, c);
  OUT(17) = __umulhi(a, b);
  OUT(18) = __mulhi((int)a, (int)b);
  OUT(19) = __hadd((int)a, (int)b);
  OUT(20) = __urhadd(a, b);
  u32 d;
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b & 31), "r"(c & 31));
  OUT(21) = d;
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c & 31), "r"(c >> 8 & 31));
  OUT(22) = d;
  asm("szext.wrap.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(c & 31));
  OUT(23) = d;
  asm("szext.clamp.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(c & 63));
  OUT(24) = d;
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(d) : "r"(b & 63), "r"(c & 63));
  OUT(25) = d;
  asm("bmsk.wrap.b32 %0, %1, %2;" : "=r"(d) : "r"(b & 63), "r"(c & 63));
  OUT(26) = d;
  asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  OUT(27) = d;
  asm("prmt.b32.rc16 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  OUT(28) = d;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  OUT(29) = d;
  asm("bfind.u32 %0, %1;" : "=r"(d) : "r"(a));
  OUT(30) = d;
  asm("bfind.shiftamt.s32 %0, %1;" : "=r"(d) : "r"(a));
  OUT(31) = d;
  asm("fns.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b & 31), "r"((c & 3) + 1));
  OUT(32) = d;
  asm("{ .reg .pred p, q; setp.ne.u32 q, %3, 0; lop3.and.b32 %0|p, %1, %2, %3, 0x96, q; @!p xor.b32 %0, %0, 0xffffffff; }"
      : "=r"(d) : "r"(a), "r"(b), "r"(c & 1));
  OUT(33) = d;
  asm("{ .reg .pred p, q; setp.ne.u32 q, %3, 0; lop3.or.b32 %0|p, %1, %2, %3, 0x80, q; @!p xor.b32 %0, %0, 0xffffffff; }"
      : "=r"(d) : "r"(a), "r"(b & 3), "r"(c & 1));
  OUT(34) = d;
  asm("mad24.lo.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  OUT(35) = d;
  asm("mul24.hi.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  OUT(36) = d;
  asm("add.sat.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  OUT(37) = d;
  asm("sub.sat.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  OUT(38) = d;
  asm("cnot.b32 %0, %1;" : "=r"(d) : "r"(c & 1));
  OUT(39) = d;
  OUT(40) = __vadd4(a, b);
  OUT(41) = __vsub2(a, b);
  OUT(42) = __vabsdiffu4(a, b);
  OUT(43) = __vmaxs2(a, b);
  OUT(44) = __vminu4(a, b);
  OUT(45) = __vcmpgtu4(a, b);
  OUT(46) = __vaddss2(a, b);
  OUT(47) = __viaddmax_s32((int)a, (int)b, (int)c);
  OUT(48) = __vimax3_s32((int)a, (int)b, (int)c);
  OUT(49) = __vimin_s32_relu((int)a, (int)b);
  OUT(50) = __viaddmax_s16x2(a, b, c);
  OUT(51) = __vimax3_u16x2(a, b, c);
}

extern "C" __global__ void integer_wide(const long long* a_, const long long* b_, long long* out) {
  const long long a = a_[threadIdx.x], b = b_[threadIdx.x];
  OUT(0) = a / (b | 1);
  OUT(1) = a % (b | 1);
  OUT(2) = (u64)a / ((u64)b | 1);
  OUT(3) = (u64)a % ((u64)b | 1);
  OUT(4) = __mul64hi(a, b);
  OUT(5) = __umul64hi(a, b);
  OUT(6) = __brevll(a);
  OUT(7) = __clzll(a);
  OUT(8) = __ffsll(a);
  OUT(9) = __popcll(a);
  OUT(10) = (long long)((__int128)a * b >> 37);
  OUT(11) = (long long)(((unsigned __int128)(u64)a << 13) / ((u64)b | 1));
  OUT(12) = a >> (b & 63);
  OUT(13) = max(a, b);
  OUT(14) = llabs(a);
  long long d;
  asm("bfe.u64 %0, %1, %2, %3;" : "=l"(d) : "l"(a), "r"((u32)(b & 63)), "r"((u32)(b >> 8 & 63)));
  OUT(15) = d;
  asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(d) : "l"(a), "l"(b), "r"((u32)(b & 63)), "r"((u32)(b >> 8 & 63)));
  OUT(16) = d;
}

// ---- single precision ----
extern "C" __global__ void single(const float* a_, const float* b_, const float* c_, float* out) {
  const float a = a_[threadIdx.x], b = b_[threadIdx.x], c = c_[threadIdx.x];
  OUT(0) = __fadd_rz(a, b);
  OUT(1) = __fadd_ru(a, b);
  OUT(2) = __fadd_rd(a, b);
  OUT(3) = __fmul_rz(a, b);
  OUT(4) = __fmul_ru(a, b);
  OUT(5) = __fmaf_rn(a, b, c);
  OUT(6) = __fmaf_rz(a, b, c);
  OUT(7) = __fmaf_ru(a, b, c);
  OUT(8) = __fmaf_rd(a, b, c);
  OUT(9) = __fdiv_rn(a, b);
  OUT(10) = __fdiv_rz(a, b);
  OUT(11) = __frcp_rn(a);
  OUT(12) = __frcp_ru(a);
  OUT(13) = __fsqrt_rn(fabsf(a));
  OUT(14) = __fsqrt_rd(fabsf(a));
  OUT(15) = __frsqrt_rn(fabsf(a));
  OUT(16) = fminf(a, b);
  OUT(17) = fmaxf(a, b);
  OUT(18) = copysignf(a, b);
  OUT(19) = floorf(a);
  OUT(20) = ceilf(a);
  OUT(21) = truncf(a);
  OUT(22) = rintf(a);
  OUT(23) = roundf(a);
  OUT(24) = fmodf(a, b);
  OUT(25) = remainderf(a, b);
  OUT(26) = __saturatef(a);
  OUT(27) = ldexpf(a, 3);
  float d;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  OUT(28) = d;
  asm("max.xorsign.abs.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  OUT(29) = d;
  asm("min.NaN.xorsign.abs.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  OUT(30) = d;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(c));
  OUT(31) = d;
  asm("add.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a * 1e-38f), "f"(b * 1e-39f));
  OUT(32) = d;
  asm("copysign.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  OUT(33) = d;
}
extern "C" __global__ void approximations(const float* a_, float* out) {
  const float a = a_[threadIdx.x];
  OUT(0) = __expf(a);
  OUT(1) = __logf(fabsf(a));
  OUT(2) = __sinf(a);
  OUT(3) = __cosf(a);
  OUT(4) = __tanf(a);
  OUT(5) = __powf(fabsf(a), 1.5f);
  OUT(6) = __fdividef(1.0f, a);
  OUT(7) = rsqrtf(fabsf(a));
  OUT(8) = expf(a);
  OUT(9) = logf(fabsf(a));
  OUT(10) = sinf(a);
  OUT(11) = cosf(a);
  OUT(12) = tanhf(a);
  OUT(13) = erff(a);
  OUT(14) = powf(fabsf(a), 2.25f);
  OUT(15) = atan2f(a, 2.0f);
  OUT(16) = cbrtf(a);
  OUT(17) = log1pf(fabsf(a));
  OUT(18) = expm1f(a);
  OUT(19) = exp2f(a);
  OUT(20) = log2f(fabsf(a));
  float d;
  asm("tanh.approx.f32 %0, %1;" : "=f"(d) : "f"(a));
  OUT(21) = d;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  OUT(22) = d;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(d) : "f"(fabsf(a)));
  OUT(23) = d;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  OUT(24) = d;
}
extern "C" __global__ void twice(const double* a_, const double* b_, double* out) {
  const double a = a_[threadIdx.x], b = b_[threadIdx.x];
  OUT(0) = a / b;
  OUT(1) = sqrt(fabs(a));
  OUT(2) = fma(a, b, a);
  OUT(3) = __dadd_rz(a, b);
  OUT(4) = __dmul_ru(a, b);
  OUT(5) = __ddiv_rd(a, b);
  OUT(6) = exp(a);
  OUT(7) = log(fabs(a));
  OUT(8) = sin(a);
  OUT(9) = pow(fabs(a), 0.75);
  OUT(10) = fmin(a, b);
  OUT(11) = rint(a);
  OUT(12) = fmod(a, b);
  OUT(13) = tanh(a);
  OUT(14) = rsqrt(fabs(a));
  OUT(15) = (double)(float)a;
  OUT(16) = (double)(long long)a;
  OUT(17) = (double)(unsigned)fabs(a);
  OUT(18) = erf(a);
  OUT(19) = cbrt(a);
}

// ---- halves ----
extern "C" __global__ void halves(const __half* a_, const __half* b_, const __half* c_, __half* out) {
  const __half a = a_[threadIdx.x], b = b_[threadIdx.x], c = c_[threadIdx.x];
  OUT(0) = __hadd(a, b);
  OUT(1) = __hsub(a, b);
  OUT(2) = __hmul(a, b);
  OUT(3) = __hfma(a, b, c);
  OUT(4) = __hfma_relu(a, b, c);
  OUT(5) = __hfma_sat(a, b, c);
  OUT(6) = __hadd_sat(a, b);
  OUT(7) = __hmin(a, b);
  OUT(8) = __hmax_nan(a, b);
  OUT(9) = __habs(a);
  OUT(10) = __hneg(a);
  OUT(11) = __hdiv(a, b);
  OUT(12) = hsqrt(__habs(a));
  OUT(13) = hrcp(b);
  OUT(14) = hexp(a);
  OUT(15) = hlog(__habs(a));
  OUT(16) = hfloor(a);
  OUT(17) = hrint(a);
  OUT(18) = __float2half_rz(__half2float(a) * 1.00037f);
  OUT(19) = __float2half_ru(__half2float(a) * 1.00037f);
  OUT(20) = __float2half_rd(__half2float(a) * 1.00037f);
  OUT(21) = __int2half_rn((int)(__half2float(a) * 100));
  OUT(22) = __short2half_rn((short)__half2int_rz(a));
  OUT(23) = htanh_approx(a);
  OUT(24) = __double2half((double)__half2float(a) * 1.0003);
  OUT(25) = __hgt(a, b) ? a : b;
  OUT(26) = __hequ(a, b) ? a : b;
  const __half2 p = __halves2half2(a, b), q = __halves2half2(c, a);
  OUT(27) = __low2half(__hfma2(p, q, q));
  OUT(28) = __high2half(__hmul2(p, q));
  OUT(29) = __low2half(__hmax2(p, q));
  OUT(30) = __high2half(__hfma2_relu(p, q, p));
  OUT(31) = __low2half(h2exp2(p));
  OUT(32) = __hbeq2(p, q) ? a : b;
  OUT(33) = __high2half(__hgt2(p, q));
  OUT(34) = __low2half(h2tanh_approx(p));
  u32 d, pp = *(const u32*)&p;
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(d) : "r"(pp));
  OUT(35) = __high2half(*(__half2*)&d);
  asm("min.NaN.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(d) : "r"(pp), "r"(*(const u32*)&q));
  OUT(36) = __low2half(*(__half2*)&d);
}
extern "C" __global__ void brains(const __nv_bfloat16* a_, const __nv_bfloat16* b_, const __nv_bfloat16* c_,
                                  __nv_bfloat16* out) {
  const __nv_bfloat16 a = a_[threadIdx.x], b = b_[threadIdx.x], c = c_[threadIdx.x];
  OUT(0) = __hadd(a, b);
  OUT(1) = __hsub(a, b);
  OUT(2) = __hmul(a, b);
  OUT(3) = __hfma(a, b, c);
  OUT(4) = __hfma_relu(a, b, c);
  OUT(5) = __hmin(a, b);
  OUT(6) = __hmax_nan(a, b);
  OUT(7) = __habs(a);
  OUT(8) = __hneg(a);
  OUT(9) = __hdiv(a, b);
  OUT(10) = hexp2(a);
  OUT(11) = __float2bfloat16_rz(__bfloat162float(a) * 1.00037f);
  OUT(12) = __float2bfloat16_ru(__bfloat162float(a) * 1.00037f);
  OUT(13) = __int2bfloat16_rn((int)(__bfloat162float(a) * 1000));
  OUT(14) = htanh_approx(a);
  const __nv_bfloat162 p = __halves2bfloat162(a, b), q = __halves2bfloat162(c, a);
  OUT(15) = __low2bfloat16(__hfma2(p, q, q));
  OUT(16) = __high2bfloat16(__hmul2(p, q));
  OUT(17) = __low2bfloat16(__hmin2(p, q));
  OUT(18) = __low2bfloat16(h2exp2(p));
  OUT(19) = __high2bfloat16(__floats2bfloat162_rn(__bfloat162float(a) * 1.3f, __bfloat162float(b) * 1.7f));
  OUT(20) = hrsqrt(__habs(a));
}
extern "C" __global__ void eighths(const float* a_, const float* b_, u32* out) {
  const float a = a_[threadIdx.x], b = b_[threadIdx.x];
  OUT(0) = __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, __NV_E4M3);
  OUT(1) = __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, __NV_E5M2);
  OUT(2) = __nv_cvt_float_to_fp8(a, __NV_SATFINITE, __NV_E4M3);
  __half2_raw h = __nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)OUT(0), __NV_E4M3);
  OUT(3) = h.x | (u32)h.y << 16;
  h = __nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)OUT(1), __NV_E5M2);
  OUT(4) = h.x | (u32)h.y << 16;
  OUT(5) = __nv_cvt_halfraw2_to_fp8x2(__halves2half2(__float2half(a), __float2half(b)), __NV_SATFINITE, __NV_E4M3);
  OUT(6) = __nv_cvt_bfloat16raw2_to_fp8x2(__floats2bfloat162_rn(a, b), __NV_SATFINITE, __NV_E5M2);
  u32 d;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(d) : "f"(a));
  OUT(7) = d;
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b));
  OUT(8) = d;
  asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(a), "f"(b));
  OUT(9) = d;
  asm("cvt.rn.tf32.f32 %0, %1;" : "=r"(d) : "f"(a));
  OUT(10) = d;
  asm("cvt.rz.relu.tf32.f32 %0, %1;" : "=r"(d) : "f"(a));
  OUT(11) = d;
  asm("{ .reg .b16 t; cvt.rn.satfinite.relu.e4m3x2.f32 t, %1, %2; cvt.u32.u16 %0, t; }" : "=r"(d) : "f"(a), "f"(b));
  OUT(12) = d;
}
extern "C" __global__ void conversions(const float* a_, u32* out) {
  const float a = a_[threadIdx.x];
  OUT(0) = __float2int_rn(a);
  OUT(1) = __float2int_rz(a);
  OUT(2) = __float2int_ru(a);
  OUT(3) = __float2int_rd(a);
  OUT(4) = __float2uint_rn(a);
  OUT(5) = (u32)__float2ll_rn(a * 1e6f);
  OUT(6) = (u32)(__float2ull_rz(a * 1e6f) >> 8);
  OUT(7) = __float_as_uint(__int2float_rz((int)(a * 12345.0f)));
  OUT(8) = __float_as_uint(__uint2float_ru((u32)(fabsf(a) * 123456.0f)));
  OUT(9) = __float_as_uint(__ll2float_rn((long long)(a * 1e12f)));
  OUT(10) = __float_as_uint(__double2float_rd((double)a * 1.0000000123));
  OUT(11) = (u32)(signed char)(int)a;
  OUT(12) = (unsigned char)(int)fabsf(a);
  u32 d;
  asm("cvt.sat.s8.s32 %0, %1;" : "=r"(d) : "r"((int)a));
  OUT(13) = d;
  asm("cvt.rni.sat.u8.f32 %0, %1;" : "=r"(d) : "f"(a));
  OUT(14) = d;
  asm("{ .reg .b16 t; cvt.rzi.s16.f32 t, %1; cvt.s32.s16 %0, t; }" : "=r"(d) : "f"(a));
  OUT(15) = d;
}

// ---- warps ----
extern "C" __global__ void warps(const u32* a_, u32* out) {
  const u32 a = a_[threadIdx.x], lane = threadIdx.x & 31;
  OUT(0) = __reduce_max_sync(~0u, a);
  OUT(1) = __reduce_min_sync(~0u, (int)a);
  OUT(2) = __reduce_xor_sync(~0u, a);
  OUT(3) = __match_any_sync(~0u, (u64)(a & 3));
  int all;
  OUT(4) = __match_all_sync(~0u, a & 0, &all) + all;
  OUT(5) = __any_sync(~0u, a == 7) + 2 * __all_sync(~0u, a != 9) + 4 * __uni_sync(~0u, lane < 32);
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  OUT(6) = cg::reduce(warp, a, cg::plus<u32>());
  OUT(7) = cg::reduce(tile, a, cg::bit_xor<u32>());
  OUT(8) = __float_as_uint(cg::reduce(tile, (float)(a & 255), cg::plus<float>()));
  OUT(9) = tile.shfl_down(a, 3);
  OUT(10) = tile.thread_rank() * 100 + tile.meta_group_rank();
  u32 leader = 0;
  asm volatile("{ .reg .pred p; .reg .b32 t; elect.sync t|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(leader));
  OUT(11) = leader;
  __nanosleep(20);
  u32 active = 0;
  if (lane < 12) {
    auto group = cg::coalesced_threads();
    active = group.size() * 100 + group.thread_rank();
  }
  OUT(12) = active;
  OUT(13) = (u32)(__shfl_xor_sync(~0u, (u64)a << 20, 5) >> 20);
  __half2 h = __halves2half2(__float2half((float)lane), __float2half(1.0f));
  OUT(14) = (u32)__half2float(__low2half(__shfl_sync(~0u, h, 31 - lane)));
  u32 d;
  asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 16; vote.sync.uni.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }"
               : "=r"(d) : "r"(lane));
  OUT(15) = d;
}

// ---- memory ----
extern "C" __global__ void memory(const uint4* in, uint4* out4, u32* out) {
  __shared__ u32 box[64];
  const u32 t = threadIdx.x;
  uint4 v = __ldg(&in[t]);
  __stcs(&out4[t], v);
  v = __ldcs(&in[t]);
  __stwt(&out4[t], v);
  OUT(0) = __ldcg((const u32*)in + t) + __ldca((const u32*)in + t) + __ldlu((const u32*)in + t) + __ldcv((const u32*)in + t);
  u64 policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  u32 a, b, c, d;
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(in + t), "l"(policy));
  OUT(1) = a ^ b ^ c ^ d;
  asm volatile("ld.global.L2::128B.L1::evict_last.u32 %0, [%1];" : "=r"(a) : "l"(in + t));
  asm volatile("st.global.L1::evict_first.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(&OUT(2)), "r"(a), "l"(policy));
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in + t));
  asm volatile("prefetchu.L1 [%0];" ::"l"(in + t));
  asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(in));
  OUT(3) = __isGlobal(in) + 2 * __isShared(box) + 4 * __isConstant(in) + 8 * __isLocal(&a);
  box[t] = t;
  __syncthreads();
  atomicAdd(&box[t & 7], t);
  atomicMax(&box[8], t * 3);
  atomicInc(&box[9], 5);
  atomicDec(&box[10], 7);
  atomicXor(&box[11], 1u << (t & 31));
  __syncthreads();
  OUT(4) = t < 12 ? box[t] : 0;
  u32 seen;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"((const u32*)in + t) : "memory");
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(&OUT(5)), "r"(seen) : "memory");
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  asm volatile("fence.proxy.async;" ::: "memory");
  asm volatile("st.volatile.global.u32 [%0], %1;" ::"l"(&OUT(6)), "r"(seen + 1) : "memory");
  asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(seen) : "l"((const u32*)in + t) : "memory");
  OUT(7) = seen;
  u32 local[8];
  for (int i = 0; i < 8; ++i) local[i] = t * i;
  OUT(8) = local[(t * 5) & 7];
}
struct alignas(16) Wide {
  u64 low, high;
};
extern "C" __global__ void atomics(float* f, double* d, __half2* h2, __nv_bfloat162* b2, u64* w, float4* f4, Wide* wide,
                                   unsigned short* s, u32* out) {
  const u32 t = threadIdx.x;
  atomicAdd(f, 1.0f);
  atomicAdd(d, 0.5);
  atomicAdd(h2, __floats2half2_rn(1.0f, 2.0f));
  atomicAdd(b2, __floats2bfloat162_rn(1.0f, 0.5f));
  atomicAdd(w, (u64)t << 33);
  atomicMin((long long*)w + 1, (long long)-(long long)t);
  atomicCAS((unsigned short*)s, (unsigned short)0, (unsigned short)(t + 1));
  atomicAdd(f4, make_float4(1, 2, 3, 4));
  asm volatile("red.global.v2.f32.add [%0], {%1, %2};" ::"l"(f + 2), "f"(1.0f), "f"(3.0f) : "memory");
  asm volatile("red.global.v4.f16x2.add.noftz [%0], {%1, %1, %1, %1};" ::"l"(h2 + 4), "r"(0x3c003c00u) : "memory");
  asm volatile("red.global.v2.bf16x2.add.noftz [%0], {%1, %1};" ::"l"(b2 + 4), "r"(0x3f803f80u) : "memory");
  u32 old;
  asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(old) : "l"(h2 + 1), "r"(0x3c003c00u) : "memory");
  asm volatile("atom.global.v2.f32.add {%0, %1}, [%2], {%3, %4};"
               : "=f"(*(float*)&out[0]), "=f"(*(float*)&out[1]) : "l"(f + 4), "f"(1.0f), "f"(1.0f) : "memory");
  // 128 bits: every thread swaps its own in, one after the other; and one compare-and-swap that can succeed once.
  u64 low, high;
  asm volatile("{ .reg .b128 x, y; mov.b128 x, {%2, %3}; atom.global.exch.b128 y, [%4], x; mov.b128 {%0, %1}, y; }"
               : "=l"(low), "=l"(high) : "l"((u64)t + 1), "l"((u64)t * 10 + 10), "l"(wide) : "memory");
  out[2 + t] = (u32)(low * 1000 + high);
  asm volatile(
      "{ .reg .b128 x, y, z; mov.b128 x, {%2, %3}; mov.b128 z, {%4, %5}; atom.global.cas.b128 y, [%6], x, z; mov.b128 {%0, %1}, y; }"
      : "=l"(low), "=l"(high) : "l"(0ull), "l"(0ull), "l"((u64)t + 5), "l"((u64)7), "l"(wide + 1) : "memory");
  out[34 + t] = (u32)low;
}
