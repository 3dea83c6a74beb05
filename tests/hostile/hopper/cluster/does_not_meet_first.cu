// expect: SANITIZER_ERROR BARRIER_MISUSE,OOB_SHARED workload=gemm_n256_k256/M=256 match="no mbarrier|may not"
// on cuda: CORRECT OK
//
// A block begins before the other one's barriers are initialised.
#define MEETS_FIRST false
#include "gemm_cluster.cuh"
