// PoisonWord on the GPU, as PTX of our own: nothing compiled by nvcc is needed at run time.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_POISON_KERNEL_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_POISON_KERNEL_H_

namespace sassay::device::cuda {

inline constexpr char kPoisonKernelName[] = "sassay_poison";

// sassay_poison(u64 destination, u64 words, u64 seed): word i of `destination` becomes PoisonWord(seed, i);
// grid-stride. Constants are those of poison.h.
inline constexpr char kPoisonKernelPtx[] = R"ptx(
.version 7.0
.target sm_70
.address_size 64

.visible .entry sassay_poison(.param .u64 destination, .param .u64 words, .param .u64 seed)
{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .b64 %i, %n, %d, %s, %z, %t, %step, %a;

  ld.param.u64 %d, [destination];
  ld.param.u64 %n, [words];
  ld.param.u64 %s, [seed];
  cvta.to.global.u64 %d, %d;
  mov.u32 %r0, %ctaid.x;
  mov.u32 %r1, %ntid.x;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %nctaid.x;
  mul.wide.u32 %i, %r0, %r1;
  cvt.u64.u32 %t, %r2;
  add.u64 %i, %i, %t;
  mul.wide.u32 %step, %r3, %r1;
loop:
  setp.ge.u64 %p, %i, %n;
  @%p bra done;
  add.u64 %t, %i, 1;
  mad.lo.u64 %z, %t, 0x9E3779B97F4A7C15, %s;
  shr.u64 %t, %z, 30;
  xor.b64 %z, %z, %t;
  mul.lo.u64 %z, %z, 0xBF58476D1CE4E5B9;
  shr.u64 %t, %z, 27;
  xor.b64 %z, %z, %t;
  mul.lo.u64 %z, %z, 0x94D049BB133111EB;
  shr.u64 %t, %z, 31;
  xor.b64 %z, %z, %t;
  and.b64 %z, %z, 0x81FF81FF81FF81FF;
  or.b64 %z, %z, 0x3E003E003E003E00;
  shl.b64 %a, %i, 3;
  add.u64 %a, %d, %a;
  st.global.u64 [%a], %z;
  add.u64 %i, %i, %step;
  bra loop;
done:
  ret;
}
)ptx";

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_POISON_KERNEL_H_
