// expect: SANITIZER_ERROR SHARED_RACE,ASYNC_RACE workload=gemm_n256_k256/M=256
// on cuda: CORRECT OK
//
// The named barrier waits for two warps where four write.
#define NAMED_THREADS 64
#include "gemm_cluster.cuh"
