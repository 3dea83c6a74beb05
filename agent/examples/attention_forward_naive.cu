// expect: CORRECT OK workload=mha_with_lse_b1_h2_d64/S=64
//
// O = softmax(Q K^T / sqrt(D)) V and the natural log-sum-exp of each row of scores.
// Workload: mha_with_lse_b1_h2_d64/S=256 (any S up to 12288).
//
//   mini-ptx-agent submit agent/examples/attention_forward_naive.cu --workload mha_with_lse_b1_h2_d64/S=256
#include <cuda_bf16.h>

#include <cstdint>

constexpr int kHeads = 2;  // B * H
constexpr int kD = 64;
constexpr int kThreads = 128;

// The largest (or the sum) of one value per thread, known to every thread afterwards.
template <bool kMaximum>
__device__ float Reduce(float value, float* scratch) {
  scratch[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      const float other = scratch[threadIdx.x + half];
      scratch[threadIdx.x] = kMaximum ? fmaxf(scratch[threadIdx.x], other) : scratch[threadIdx.x] + other;
    }
    __syncthreads();
  }
  const float result = scratch[0];
  __syncthreads();  // before anybody uses scratch again
  return result;
}

// One block per query row of one head. `weights` holds a whole row of scores.
__global__ void __launch_bounds__(kThreads)
    AttentionForward(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, __nv_bfloat16* o,
                     float* lse, int s) {
  extern __shared__ float weights[];
  __shared__ float query[kD];
  __shared__ float scratch[kThreads];
  const int row = blockIdx.x, head = blockIdx.y;
  const int64_t base = static_cast<int64_t>(head) * s * kD;
  if (threadIdx.x < kD) query[threadIdx.x] = __bfloat162float(q[base + row * kD + threadIdx.x]) * rsqrtf(kD);
  __syncthreads();

  float largest = -INFINITY;
  for (int column = threadIdx.x; column < s; column += kThreads) {
    float score = 0.f;
    for (int d = 0; d < kD; ++d) score += query[d] * __bfloat162float(k[base + column * kD + d]);
    weights[column] = score;
    largest = fmaxf(largest, score);
  }
  // Subtracting the largest score keeps every exponential at or below one.
  largest = Reduce<true>(largest, scratch);
  float sum = 0.f;
  for (int column = threadIdx.x; column < s; column += kThreads) {
    weights[column] = expf(weights[column] - largest);
    sum += weights[column];
  }
  sum = Reduce<false>(sum, scratch);

  if (threadIdx.x < kD) {
    float result = 0.f;
    for (int column = 0; column < s; ++column) {
      result += weights[column] * __bfloat162float(v[base + column * kD + threadIdx.x]);
    }
    o[base + row * kD + threadIdx.x] = __float2bfloat16(result / sum);
  }
  if (threadIdx.x == 0) lse[head * s + row] = largest + logf(sum);
}

extern "C" void run(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O,
                    float* LSE, int64_t S, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(S), kHeads);
  AttentionForward<<<grid, kThreads, S * sizeof(float), stream>>>(Q, K, V, O, LSE, static_cast<int>(S));
}
