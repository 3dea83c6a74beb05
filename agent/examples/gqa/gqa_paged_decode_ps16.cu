// expect: CORRECT OK workload=gqa_paged_decode_h32_kv8_d128_ps16/batch_size=2,num_pages=4,len_indptr=3,num_kv_indices=2
// on cuda: CORRECT OK workload=gqa_paged_decode_h32_kv8_d128_ps16/batch_size=64,num_pages=3072,len_indptr=65,num_kv_indices=2048
//
// The same with pages of 16 tokens, of which the last of a sequence is full in part.
#include "gqa_decode.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                    const int* kv_indptr, const int* kv_indices, const int* kv_last_page_len, float sm_scale,
                    __nv_bfloat16* output, float* lse, int64_t batch_size, int64_t num_pages, int64_t len_indptr,
                    int64_t num_kv_indices, cudaStream_t stream) {
  const gqa::Decode decode = {q, k_cache, v_cache, kv_indptr, kv_indices, kv_last_page_len, sm_scale};
  gqa::Run<16>(decode, batch_size, output, lse, stream);
}
