// expect: SANITIZER_ERROR ASYNC_RACE workload=gemm_n256_k256/M=256 match="fence.proxy.async"
// on cuda: CORRECT OK
//
// TMA stores what threads have written, without a proxy fence between.
#define FENCES_STORE false
#include "gemm_cluster.cuh"
