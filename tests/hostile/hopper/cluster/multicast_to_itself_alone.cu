// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 match="asked for 24576 .* deliver 20480"
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// The mask of the multicast names one block.
#define BLOCKS_OF_A (1 << rank)
#include "gemm_cluster.cuh"
