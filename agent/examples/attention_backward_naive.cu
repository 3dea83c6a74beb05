// expect: CORRECT OK workload=mha_bwd_b1_h2_d64/S=64
//
// dQ, dK and dV of softmax attention, from Q, K, V, O, dO and the forward pass's log-sum-exp L.
// Workload: mha_bwd_b1_h2_d64/S=256 (any S up to 6144).
//
//   mini-ptx-agent submit agent/examples/attention_backward_naive.cu --workload mha_bwd_b1_h2_d64/S=256
//
// With scores s = q.k / sqrt(D), the weights are p = exp(s - L): no second softmax is needed. Then
//   dV[j] = sum over i of p[i][j] dO[i]
//   ds[i][j] = p[i][j] (dO[i].V[j] - delta[i]) / sqrt(D),    delta[i] = dO[i].O[i]
//   dQ[i] = sum over j of ds[i][j] K[j],    dK[j] = sum over i of ds[i][j] Q[i]
// One kernel goes by rows and gives dQ, one goes by columns and gives dK and dV, so neither needs atomics.
#include <cuda_bf16.h>

#include <cstdint>

constexpr int kHeads = 2;  // B * H
constexpr int kD = 64;
constexpr int kThreads = 128;

__device__ float Dot(const float* x, const __nv_bfloat16* y) {
  float sum = 0.f;
  for (int d = 0; d < kD; ++d) sum += x[d] * __bfloat162float(y[d]);
  return sum;
}

__device__ float Dot(const __nv_bfloat16* x, const __nv_bfloat16* y) {
  float sum = 0.f;
  for (int d = 0; d < kD; ++d) sum += __bfloat162float(x[d]) * __bfloat162float(y[d]);
  return sum;
}

// One thread per row.
__global__ void Delta(const __nv_bfloat16* o, const __nv_bfloat16* d_o, float* delta, int rows) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) delta[row] = Dot(o + static_cast<int64_t>(row) * kD, d_o + static_cast<int64_t>(row) * kD);
}

// One block per query row i of one head.
__global__ void __launch_bounds__(kThreads)
    BackwardQuery(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const __nv_bfloat16* d_o,
                  const float* l, const float* delta, __nv_bfloat16* d_q, int s) {
  extern __shared__ float d_scores[];
  __shared__ float query[kD], gradient[kD];
  const int row = blockIdx.x, head = blockIdx.y;
  const int64_t base = static_cast<int64_t>(head) * s * kD;
  if (threadIdx.x < kD) {
    query[threadIdx.x] = __bfloat162float(q[base + row * kD + threadIdx.x]);
    gradient[threadIdx.x] = __bfloat162float(d_o[base + row * kD + threadIdx.x]);
  }
  __syncthreads();
  const float scale = rsqrtf(kD), row_l = l[head * s + row], row_delta = delta[head * s + row];
  for (int column = threadIdx.x; column < s; column += kThreads) {
    const float p = expf(Dot(query, k + base + column * kD) * scale - row_l);
    d_scores[column] = p * (Dot(gradient, v + base + column * kD) - row_delta) * scale;
  }
  __syncthreads();
  if (threadIdx.x >= kD) return;
  float result = 0.f;
  for (int column = 0; column < s; ++column) {
    result += d_scores[column] * __bfloat162float(k[base + column * kD + threadIdx.x]);
  }
  d_q[base + row * kD + threadIdx.x] = __float2bfloat16(result);
}

// One block per key row j of one head. The first kD threads sum up dV, the others dK.
__global__ void __launch_bounds__(kThreads)
    BackwardKeyValue(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const __nv_bfloat16* d_o,
                     const float* l, const float* delta, __nv_bfloat16* d_k, __nv_bfloat16* d_v, int s) {
  extern __shared__ float columns[];  // weights, then gradients of scores
  float *weights = columns, *d_scores = columns + s;
  __shared__ float key[kD], value[kD];
  const int column = blockIdx.x, head = blockIdx.y;
  const int64_t base = static_cast<int64_t>(head) * s * kD;
  if (threadIdx.x < kD) {
    key[threadIdx.x] = __bfloat162float(k[base + column * kD + threadIdx.x]);
    value[threadIdx.x] = __bfloat162float(v[base + column * kD + threadIdx.x]);
  }
  __syncthreads();
  const float scale = rsqrtf(kD);
  for (int row = threadIdx.x; row < s; row += kThreads) {
    const float p = expf(Dot(key, q + base + row * kD) * scale - l[head * s + row]);
    weights[row] = p;
    d_scores[row] = p * (Dot(value, d_o + base + row * kD) - delta[head * s + row]) * scale;
  }
  __syncthreads();
  const bool for_value = threadIdx.x < kD;
  const int d = threadIdx.x % kD;
  const float* factors = for_value ? weights : d_scores;
  const __nv_bfloat16* rows = for_value ? d_o : q;
  float result = 0.f;
  for (int row = 0; row < s; ++row) result += factors[row] * __bfloat162float(rows[base + row * kD + d]);
  (for_value ? d_v : d_k)[base + column * kD + d] = __float2bfloat16(result);
}

extern "C" void run(const __nv_bfloat16* Q, const __nv_bfloat16* K, const __nv_bfloat16* V, const __nv_bfloat16* O,
                    const __nv_bfloat16* dO, const float* L, __nv_bfloat16* dQ, __nv_bfloat16* dK, __nv_bfloat16* dV,
                    int64_t S, cudaStream_t stream) {
  const int s = static_cast<int>(S), rows = kHeads * s;
  // A workspace of one's own, in stream order: allocated and freed in each call, which the plan records.
  float* delta = nullptr;
  if (cudaMallocAsync(reinterpret_cast<void**>(&delta), rows * sizeof(float), stream) != cudaSuccess) return;
  Delta<<<(rows + kThreads - 1) / kThreads, kThreads, 0, stream>>>(O, dO, delta, rows);
  const dim3 grid(s, kHeads);
  BackwardQuery<<<grid, kThreads, s * sizeof(float), stream>>>(Q, K, V, dO, L, delta, dQ, s);
  BackwardKeyValue<<<grid, kThreads, 2 * s * sizeof(float), stream>>>(Q, K, V, dO, L, delta, dK, dV, s);
  cudaFreeAsync(delta, stream);
}
