// Kernels of our own that a measurement needs, as PTX: nothing compiled by nvcc is needed at run time.
#ifndef SASSAY_PROFILER_SERVICE_DEVICE_CUDA_TIMING_KERNELS_H_
#define SASSAY_PROFILER_SERVICE_DEVICE_CUDA_TIMING_KERNELS_H_

#include <atomic>
#include <cstdint>

namespace sassay::device::cuda {

inline constexpr char kHoldKernelName[] = "sassay_hold";
inline constexpr char kProbeKernelName[] = "sassay_probe";

// What the probe writes. It waits for the wall clock to tick, so that reading it is exact to the clock's own
// resolution (32 ns to 1 µs), and measures that resolution.
struct ClockProbe {
  uint64_t cycles;   // clock64
  uint64_t time_ns;  // globaltimer
  uint64_t tick_ns;
  uint64_t multiprocessor;
};

// Host memory that the kernels see. A candidate's kernel may find and change it: what is measured is read, not
// believed.
struct TimingBoard {
  // The last ticket that is let go.
  std::atomic<uint32_t> released{0};
  // Set by a hold that ended by its time-out.
  std::atomic<uint32_t> late{0};
  // The first and the last one.
  ClockProbe probes[2] = {};
};

// sassay_hold(u64 board, u32 ticket, u64 timeout_ns): spins until `released` has come to the ticket.
// sassay_probe(u64 probe): fills in a ClockProbe.
inline constexpr char kTimingKernelsPtx[] = R"ptx(
.version 7.0
.target sm_70
.address_size 64

.visible .entry sassay_hold(.param .u64 board, .param .u32 ticket, .param .u64 timeout)
{
  .reg .pred %p;
  .reg .b32 %mine, %now, %ahead;
  .reg .b64 %b, %begin, %time, %limit;

  ld.param.u64 %b, [board];
  ld.param.u32 %mine, [ticket];
  ld.param.u64 %limit, [timeout];
  cvta.to.global.u64 %b, %b;
  mov.u64 %begin, %globaltimer;
wait:
  ld.volatile.global.u32 %now, [%b];
  sub.s32 %ahead, %now, %mine;
  setp.ge.s32 %p, %ahead, 0;
  @%p bra done;
  mov.u64 %time, %globaltimer;
  sub.u64 %time, %time, %begin;
  setp.lt.u64 %p, %time, %limit;
  @%p bra wait;
  st.volatile.global.u32 [%b+4], 1;
  membar.sys;
done:
  ret;
}

.visible .entry sassay_probe(.param .u64 probe)
{
  .reg .pred %p;
  .reg .b32 %sm;
  .reg .b64 %b, %begin, %first, %second, %cycles, %tick, %wide;

  ld.param.u64 %b, [probe];
  cvta.to.global.u64 %b, %b;
  mov.u64 %begin, %globaltimer;
first_tick:
  mov.u64 %first, %globaltimer;
  setp.eq.u64 %p, %first, %begin;
  @%p bra first_tick;
second_tick:
  mov.u64 %second, %globaltimer;
  setp.eq.u64 %p, %second, %first;
  @%p bra second_tick;
  mov.u64 %cycles, %clock64;
  sub.u64 %tick, %second, %first;
  mov.u32 %sm, %smid;
  cvt.u64.u32 %wide, %sm;
  st.volatile.global.u64 [%b], %cycles;
  st.volatile.global.u64 [%b+8], %second;
  st.volatile.global.u64 [%b+16], %tick;
  st.volatile.global.u64 [%b+24], %wide;
  membar.sys;
  ret;
}
)ptx";

}  // namespace sassay::device::cuda

#endif  // SASSAY_PROFILER_SERVICE_DEVICE_CUDA_TIMING_KERNELS_H_
