// expect: TIMEOUT,SANITIZER_ERROR MBARRIER_DEADLOCK,ASYNC_RACE workload=gemm_n256_k256/M=256 match="24576|cluster"
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// The bytes that the other block brings are not announced.
#define BYTES (sizeof shared.a[0] / 2 + sizeof shared.b[0])
#include "gemm_cluster.cuh"
