// expect: INCORRECT_NUMERICAL,SANITIZER_ERROR MISMATCH,SHARED_RACE workload=gemm_n256_k256/M=256
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// Two warpgroups share a named barrier of 128 threads.
#define NAMED_BARRIER 1
#include "gemm_specialized.cuh"
