// expect: CORRECT OK workload=gqa_paged_prefill_causal_h32_kv8_d128_ps16/len_indptr=3,total_q=3,num_kv_indices=3,num_pages=4,batch_size=2
// on cuda: CORRECT OK workload=gqa_paged_prefill_causal_h32_kv8_d128_ps16/len_indptr=9,total_q=4096,num_kv_indices=512,num_pages=768,batch_size=8
//
// The same with pages of 16 tokens, of which the last of a sequence is full in part.
#include "gqa_prefill.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                    const int* qo_indptr, const int* kv_indptr, const int* kv_indices, const int* kv_last_page_len,
                    float sm_scale, __nv_bfloat16* output, float* lse, int64_t len_indptr, int64_t total_q,
                    int64_t num_kv_indices, int64_t num_pages, int64_t batch_size, cudaStream_t stream) {
  gqa::Run<16>({q, k_cache, v_cache, qo_indptr, kv_indptr, kv_indices, kv_last_page_len, static_cast<int>(batch_size),
                sm_scale, output, lse},
               total_q, stream);
}
