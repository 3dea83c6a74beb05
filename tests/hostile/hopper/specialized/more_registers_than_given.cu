// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 match="setmaxnreg.inc for 72 registers"
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// Two warpgroups take more registers than the third has given.
#define TAKEN 240
#include "gemm_specialized.cuh"
