// Runs a candidate for gemm_n256_k256 by itself on a GPU, without Sassay, and compares C with a plain product. CANDIDATE is its
// path; see templates.sh.
#include CANDIDATE

#include <cstdio>
#include <cstdlib>
#include <vector>

static int Check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return 0;
  std::printf("%s: %s: %s\n", CANDIDATE, what, cudaGetErrorString(error));
  std::exit(1);
}

static float Number(uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return static_cast<int>(state >> 24) / 64.f - 2;
}

int main() {
  constexpr int kM = 64, kSide = 256;
  std::vector<__nv_bfloat16> a(kM * kSide), b(kSide * kSide), c(kM * kSide);
  uint32_t state = 1;
  for (auto& x : a) x = __float2bfloat16(Number(state));
  for (auto& x : b) x = __float2bfloat16(Number(state));
  __nv_bfloat16 *da, *db, *dc;
  Check(cudaMalloc(&da, a.size() * 2), "cudaMalloc");
  Check(cudaMalloc(&db, b.size() * 2), "cudaMalloc");
  Check(cudaMalloc(&dc, c.size() * 2), "cudaMalloc");
  Check(cudaMemcpy(da, a.data(), a.size() * 2, cudaMemcpyHostToDevice), "cudaMemcpy");
  Check(cudaMemcpy(db, b.data(), b.size() * 2, cudaMemcpyHostToDevice), "cudaMemcpy");
  for (int call = 0; call < 3; ++call) run(da, db, dc, kM, nullptr);
  Check(cudaGetLastError(), "launch");
  Check(cudaDeviceSynchronize(), "run");
  Check(cudaMemcpy(c.data(), dc, c.size() * 2, cudaMemcpyDeviceToHost), "cudaMemcpy");
  int wrong = 0;
  for (int i = 0; i < kM * kSide; ++i) {
    float sum = 0;
    for (int k = 0; k < kSide; ++k)
      sum += __bfloat162float(a[i / kSide * kSide + k]) * __bfloat162float(b[i % kSide * kSide + k]);
    const float error = fabsf(__bfloat162float(c[i]) - sum);
    wrong += !(error <= 0.01f * fabsf(sum) + 0.05f);
  }
  std::printf("%s: %s (%d wrong)\n", CANDIDATE, wrong == 0 ? "right" : "WRONG", wrong);
  return wrong != 0;
}
