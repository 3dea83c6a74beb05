// Warpgroups that give registers to their block's pool and take them from it.
template <int kRegisters>
__device__ void Give() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ void Take() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// 168 registers a thread: two warpgroups may take 64 more each if one gives 128.
extern "C" __global__ void __launch_bounds__(384, 1) enough(int* out) {
  if (threadIdx.x >= 256) {
    Give<40>();
  } else {
    Take<232>();
  }
  out[threadIdx.x] = 1;
}

extern "C" __global__ void __launch_bounds__(384, 1) too_few(int* out) {
  if (threadIdx.x >= 256) {
    Give<40>();
  } else {
    Take<240>();
  }
  out[threadIdx.x] = 1;
}
