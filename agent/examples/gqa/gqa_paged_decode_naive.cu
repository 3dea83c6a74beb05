// expect: CORRECT OK workload=gqa_paged_decode_h32_kv8_d128_ps1/batch_size=2,num_pages=8,len_indptr=3,num_kv_indices=6
// on cuda: CORRECT OK workload=gqa_paged_decode_h32_kv8_d128_ps1/batch_size=16,num_pages=6144,len_indptr=17,num_kv_indices=4096
//
// One new token for each of many sequences, whose keys and values lie scattered over a cache of pages of one token.
#include "gqa_naive.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                    const int* kv_indptr, const int* kv_indices, float sm_scale, __nv_bfloat16* output, float* lse,
                    int64_t batch_size, int64_t num_pages, int64_t len_indptr, int64_t num_kv_indices,
                    cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(batch_size), gqa::kHeads);
  const gqa::Cache cache = {k_cache, v_cache, kv_indptr, kv_indices, nullptr};
  gqa::Attention<1><<<grid, gqa::kThreads, 0, stream>>>(q, cache, nullptr, sm_scale, output, lse);
}
