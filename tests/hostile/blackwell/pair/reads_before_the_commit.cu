// expect: SANITIZER_ERROR UNINITIALIZED_READ,ASYNC_RACE workload=gemm_n256_k256/M=256 arch=sm_100a
//
// The odd block reads its half of the result before the products are done.
#define WAITS_FOR_DONE (cluster_ctarank() == 0)
#include "gemm_pair.cuh"
