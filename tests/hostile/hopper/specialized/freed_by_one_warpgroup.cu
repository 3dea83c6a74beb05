// expect: TIMEOUT,SANITIZER_ERROR MBARRIER_DEADLOCK,ASYNC_RACE,SHARED_RACE,BARRIER_MISUSE workload=gemm_n256_k256/M=256
// on cuda: CORRECT OK
//
// A stage counts as empty when one of the two warpgroups is done with it.
#define ARRIVALS_WANTED 4
#include "gemm_specialized.cuh"
