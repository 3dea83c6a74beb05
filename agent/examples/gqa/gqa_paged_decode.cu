// expect: CORRECT OK workload=gqa_paged_decode_h32_kv8_d128_ps1/batch_size=2,num_pages=8,len_indptr=3,num_kv_indices=6
// on cuda: CORRECT OK workload=gqa_paged_decode_h32_kv8_d128_ps1/batch_size=64,num_pages=98304,len_indptr=65,num_kv_indices=65536
//
// gqa_paged_decode_naive.cu at the speed of memory, or nearer to it.
#include "gqa_decode.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k_cache, const __nv_bfloat16* v_cache,
                    const int* kv_indptr, const int* kv_indices, float sm_scale, __nv_bfloat16* output, float* lse,
                    int64_t batch_size, int64_t num_pages, int64_t len_indptr, int64_t num_kv_indices,
                    cudaStream_t stream) {
  const gqa::Decode decode = {q, k_cache, v_cache, kv_indptr, kv_indices, nullptr, sm_scale};
  gqa::Run<1>(decode, batch_size, output, lse, stream);
}
