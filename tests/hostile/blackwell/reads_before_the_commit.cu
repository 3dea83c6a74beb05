// expect: SANITIZER_ERROR UNINITIALIZED_READ,ASYNC_RACE workload=gemm_n256_k256/M=256 arch=sm_100a
//
// The result is read before the products are done.
#define WAITS_FOR_DONE false
#include "gemm.cuh"
