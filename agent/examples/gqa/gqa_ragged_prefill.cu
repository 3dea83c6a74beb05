// expect: CORRECT OK workload=gqa_ragged_prefill_causal_h32_kv8_d128/len_indptr=3,total_q=3,total_kv=6
// on cuda: CORRECT OK workload=gqa_ragged_prefill_causal_h32_kv8_d128/len_indptr=9,total_q=4096,total_kv=4096
//
// gqa_ragged_prefill_naive.cu on tensor cores.
#include "gqa_prefill.cuh"

extern "C" void run(const __nv_bfloat16* q, const __nv_bfloat16* k, const __nv_bfloat16* v, const int* qo_indptr,
                    const int* kv_indptr, float sm_scale, __nv_bfloat16* output, float* lse, int64_t len_indptr,
                    int64_t total_q, int64_t total_kv, cudaStream_t stream) {
  gqa::Run<1>(
      {q, k, v, qo_indptr, kv_indptr, nullptr, nullptr, static_cast<int>(len_indptr - 1), sm_scale, output, lse},
      total_q, stream);
}
