// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 arch=sm_100a match="nobody arrives at the mbarrier"
//
// The last commit arrives at the barrier of the odd block alone: the even one waits.
#define DONE_OF 2
#include "gemm_pair.cuh"
