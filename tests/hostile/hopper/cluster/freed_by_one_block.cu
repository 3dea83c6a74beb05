// expect: TIMEOUT,SANITIZER_ERROR MBARRIER_DEADLOCK,ASYNC_RACE,SHARED_RACE,BARRIER_MISUSE workload=gemm_n256_k256/M=256
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// A stage counts as empty when the consumers of one of the two blocks are done with it.
#define ARRIVALS_WANTED 4
#include "gemm_cluster.cuh"
