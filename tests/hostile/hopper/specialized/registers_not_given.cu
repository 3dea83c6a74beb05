// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 match="setmaxnreg.inc for 64 registers"
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// Two warpgroups take registers that the third has not given.
#define GIVES false
#include "gemm_specialized.cuh"
