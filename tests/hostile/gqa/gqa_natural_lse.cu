// expect: INCORRECT_NUMERICAL MISMATCH workload=gqa_paged_decode_h4_kv2_d32_ps1/batch_size=6,num_pages=96,len_indptr=7,num_kv_indices=64
// The log-sum-exp has base e; the output is right.
#include "gqa.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                    const int* kv_indptr, const int* kv_indices, float sm_scale, __nv_bfloat16* output, float* lse,
                    int64_t batch_size, int64_t num_pages, int64_t len_indptr, int64_t num_kv_indices,
                    cudaStream_t stream) {
  const gqa::Tensors tensors = {q, k_cache, v_cache, nullptr, kv_indptr, kv_indices, nullptr, sm_scale, output, lse};
  gqa::Attention<1, Twist::kNaturalLse><<<static_cast<unsigned>(batch_size), 128, 0, stream>>>(tensors);
}
