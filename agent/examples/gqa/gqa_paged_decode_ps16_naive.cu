// expect: CORRECT OK workload=gqa_paged_decode_h32_kv8_d128_ps16/batch_size=2,num_pages=4,len_indptr=3,num_kv_indices=2
// on cuda: CORRECT OK workload=gqa_paged_decode_h32_kv8_d128_ps16/batch_size=16,num_pages=384,len_indptr=17,num_kv_indices=256
//
// The same with pages of 16 tokens, of which the last of a sequence is full in part.
#include "gqa_naive.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                    const int* kv_indptr, const int* kv_indices, const int* kv_last_page_len, float sm_scale,
                    __nv_bfloat16* output, float* lse, int64_t batch_size, int64_t num_pages, int64_t len_indptr,
                    int64_t num_kv_indices, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(batch_size), gqa::kHeads);
  const gqa::Cache cache = {k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len};
  gqa::Attention<16><<<grid, gqa::kThreads, 0, stream>>>(q, cache, nullptr, sm_scale, output, lse);
}
