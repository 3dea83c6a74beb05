// expect: CORRECT OK workload=row_argmax_m64_n128
// One warp a row; of equal elements the first wins.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr int kRows = 64, kColumns = 128;

__global__ void RowArgmax(const __nv_bfloat16* x, int32_t* y) {
  const int row = blockIdx.x, lane = threadIdx.x;
  float best = -INFINITY;
  int index = 0;
  for (int column = lane; column < kColumns; column += 32) {
    const float value = __bfloat162float(x[row * kColumns + column]);
    if (value > best) {
      best = value;
      index = column;
    }
  }
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(0xffffffff, best, distance);
    const int other_index = __shfl_xor_sync(0xffffffff, index, distance);
    if (other > best || (other == best && other_index < index)) {
      best = other;
      index = other_index;
    }
  }
  if (lane == 0) y[row] = index;
}

extern "C" void run(const __nv_bfloat16* x, int32_t* y, cudaStream_t stream) {
  RowArgmax<<<kRows, 32, 0, stream>>>(x, y);
}
