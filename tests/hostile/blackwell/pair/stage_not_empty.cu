// expect: SANITIZER_ERROR BARRIER_MISUSE,ASYNC_RACE,SHARED_RACE workload=gemm_n256_k256/M=256 arch=sm_100a
//
// Stages are filled again before they have been used.
#define WAITS_FOR_EMPTY false
#include "gemm_pair.cuh"
