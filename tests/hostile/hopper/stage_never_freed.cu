// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 match="nobody arrives at the mbarrier"
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// Nobody tells the producer that a stage is empty.
#define FREES false
#include "gemm.cuh"
