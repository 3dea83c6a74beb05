// expect: CORRECT OK workload=gqa_paged_prefill_causal_h32_kv8_d128_ps1/len_indptr=3,total_q=3,num_kv_indices=6,num_pages=8
// on cuda: CORRECT OK workload=gqa_paged_prefill_causal_h32_kv8_d128_ps1/len_indptr=9,total_q=4096,num_kv_indices=8192,num_pages=12288
//
// gqa_paged_prefill_naive.cu on tensor cores.
#include "gqa_prefill.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                    const int* qo_indptr, const int* kv_indptr, const int* kv_indices, float sm_scale,
                    __nv_bfloat16* output, float* lse, int64_t len_indptr, int64_t total_q, int64_t num_kv_indices,
                    int64_t num_pages, cudaStream_t stream) {
  gqa::Run<1>({q, k_cache, v_cache, qo_indptr, kv_indptr, kv_indices, nullptr, static_cast<int>(len_indptr - 1),
               sm_scale, output, lse},
              total_q, stream);
}
