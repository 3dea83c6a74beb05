// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 match="was initialised for 128 arrivals, and only 4 have come"
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// A stage is empty when all threads have arrived; one of each warp does.
#define ARRIVALS_WANTED 128
#include "gemm.cuh"
