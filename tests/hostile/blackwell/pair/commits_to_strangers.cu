// expect: SANITIZER_ERROR BARRIER_MISUSE workload=gemm_n256_k256/M=256 arch=sm_100a match="tcgen05.commit to blocks 0xf of a cluster of 2"
//
// The commit names two blocks more than the cluster has.
#define DONE_OF 15
#include "gemm_pair.cuh"
