// expect: TIMEOUT BARRIER_DEADLOCK workload=gemm_n256_k256/M=256 arch=sm_100a match="waiting in tcgen05.alloc.cta_group::2 of 256 columns for a warp of block 1, the other one of its pair"
//
// Only the even block allocates.
#define ALLOCATES (cluster_ctarank() == 0)
#include "gemm_pair.cuh"
