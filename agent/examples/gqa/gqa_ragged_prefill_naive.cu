// expect: CORRECT OK workload=gqa_ragged_prefill_causal_h32_kv8_d128/len_indptr=3,total_q=3,total_kv=6
// on cuda: CORRECT OK workload=gqa_ragged_prefill_causal_h32_kv8_d128/len_indptr=5,total_q=512,total_kv=512
//
// Keys and values of all sequences one after the other, no pages.
#include "gqa_naive.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* qo_indptr,
                    const int* kv_indptr, float sm_scale, __nv_bfloat16* output, float* lse, int64_t len_indptr,
                    int64_t total_q, int64_t total_kv, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(total_q), gqa::kHeads);
  const gqa::Cache cache = {k, v, kv_indptr, nullptr, nullptr};
  gqa::Attention<1><<<grid, gqa::kThreads, 0, stream>>>(q, cache, qo_indptr, sm_scale, output, lse);
}
