// expect: SANITIZER_ERROR TENSOR_MEMORY_MISUSE workload=gemm_n256_k256/M=256 arch=sm_100a match="is allocated here and never freed"
//
// The odd block keeps its columns.
#define FREES (cluster_ctarank() == 0)
#include "gemm_pair.cuh"
