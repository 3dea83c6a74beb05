// expect: CORRECT OK workload=gqa_paged_prefill_causal_h4_kv2_d32_ps4/len_indptr=6,total_q=20,num_kv_indices=20,num_pages=32,batch_size=5
// The twin of gqa_mask_from_the_start.
#include "gqa.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                    const int* qo_indptr, const int* kv_indptr, const int* kv_indices, const int* kv_last_page_len,
                    float sm_scale, __nv_bfloat16* output, float* lse, int64_t len_indptr, int64_t total_q,
                    int64_t num_kv_indices, int64_t num_pages, int64_t batch_size, cudaStream_t stream) {
  const gqa::Tensors tensors = {q,          k_cache,          v_cache,  qo_indptr, kv_indptr,
                                kv_indices, kv_last_page_len, sm_scale, output,    lse};
  gqa::Attention<4, Twist::kNone><<<static_cast<unsigned>(total_q), 128, 0, stream>>>(tensors);
}
