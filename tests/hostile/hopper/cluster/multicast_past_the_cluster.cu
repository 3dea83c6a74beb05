// expect: RUNTIME_ERROR ILLEGAL_INSTRUCTION workload=gemm_n256_k256/M=256 match="blocks 0x7 of a cluster of 2"
// on cuda: RUNTIME_ERROR,SANITIZER_ERROR ILLEGAL_INSTRUCTION,LAUNCH_FAILED
//
// The mask of the multicast names a block that the cluster has not.
#define BLOCKS_OF_A 0b111
#include "gemm_cluster.cuh"
