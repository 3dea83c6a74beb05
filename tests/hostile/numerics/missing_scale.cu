// expect: INCORRECT_NUMERICAL MISMATCH workload=mha_with_lse_b1_h2_d64/S=64
// Attention without the factor 1/sqrt(D).
#include <cuda_bf16.h>

#include <cstdint>

__global__ void attention(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, __nv_bfloat16* o, float* lse,
                          int64_t s) {
  const int64_t row = blockIdx.x, head = blockIdx.y;
  const int d = threadIdx.x;
  const int64_t base = head * s * 64;
  __shared__ float scores[1024];
  for (int64_t j = d; j < s; j += 64) {
    float sum = 0.f;
    for (int i = 0; i < 64; ++i) sum += __bfloat162float(q[base + row * 64 + i]) * __bfloat162float(k[base + j * 64 + i]);
    scores[j] = sum;
  }
  __syncthreads();
  float largest = -INFINITY, total = 0.f, out = 0.f;
  for (int64_t j = 0; j < s; ++j) largest = fmaxf(largest, scores[j]);
  for (int64_t j = 0; j < s; ++j) {
    const float p = __expf(scores[j] - largest);
    total += p;
    out += p * __bfloat162float(v[base + j * 64 + d]);
  }
  o[base + row * 64 + d] = __float2bfloat16(out / total);
  if (d == 0) lse[head * s + row] = largest + logf(total);
}

extern "C" void run(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, __nv_bfloat16* O, float* LSE, int64_t S,
                    cudaStream_t stream) {
  attention<<<dim3(S, 2), 64, 0, stream>>>(Q, K, V, O, LSE, S);
}
