// expect: CORRECT OK workload=rmsnorm_h256/batch_size=8
// One warp a row, eight elements a thread, a shuffle reduction in float.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

constexpr int kHidden = 256;
constexpr int kWarps = 4;

__global__ void RmsNorm(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y, int rows) {
  const int row = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float values[8], sum = 0;
  for (int i = 0; i < 8; ++i) {
    values[i] = __bfloat162float(x[row * kHidden + lane + i * 32]);
    sum += values[i] * values[i];
  }
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffff, sum, distance);
  const float scale = rsqrtf(sum / kHidden + 1e-6f);
  for (int i = 0; i < 8; ++i) {
    const int at = lane + i * 32;
    y[row * kHidden + at] = __float2bfloat16(values[i] * scale * __bfloat162float(weight[at]));
  }
}

extern "C" void run(const __nv_bfloat16* x, const __nv_bfloat16* weight, __nv_bfloat16* y, int64_t batch_size,
                    cudaStream_t stream) {
  const int rows = static_cast<int>(batch_size);
  RmsNorm<<<(rows + kWarps - 1) / kWarps, kWarps * 32, 0, stream>>>(x, weight, y, rows);
}
