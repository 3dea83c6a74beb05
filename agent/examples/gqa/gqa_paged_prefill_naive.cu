// expect: CORRECT OK workload=gqa_paged_prefill_causal_h32_kv8_d128_ps1/len_indptr=3,total_q=3,num_kv_indices=6,num_pages=8
// on cuda: CORRECT OK workload=gqa_paged_prefill_causal_h32_kv8_d128_ps1/len_indptr=5,total_q=512,num_kv_indices=1024,num_pages=2048
//
// The last tokens of each sequence at once, causally, over the same cache.
#include "gqa_naive.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                    const int* qo_indptr, const int* kv_indptr, const int* kv_indices, float sm_scale,
                    __nv_bfloat16* output, float* lse, int64_t len_indptr, int64_t total_q, int64_t num_kv_indices,
                    int64_t num_pages, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(total_q), gqa::kHeads);
  const gqa::Cache cache = {k_cache, v_cache, kv_indptr, kv_indices, nullptr};
  gqa::Attention<1><<<grid, gqa::kThreads, 0, stream>>>(q, cache, qo_indptr, sm_scale, output, lse);
}
