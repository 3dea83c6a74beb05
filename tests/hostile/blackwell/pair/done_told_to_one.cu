// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 arch=sm_100a match="nobody arrives at the mbarrier"
//
// The last commit names the even block alone: the odd one waits.
#define DONE_OF 1
#include "gemm_pair.cuh"
