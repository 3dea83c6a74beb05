// expect: INCORRECT_NUMERICAL,SANITIZER_ERROR MISMATCH,ASYNC_RACE workload=gemm_n256_k256/M=256
// on cuda: INCORRECT_NUMERICAL MISMATCH
//
// Both blocks bring the first half of A.
#define HALF 0
#include "gemm_cluster.cuh"
