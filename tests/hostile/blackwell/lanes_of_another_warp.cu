// expect: SANITIZER_ERROR TENSOR_MEMORY_MISUSE workload=gemm_n256_k256/M=256 arch=sm_100a match="by warp 0, which reaches lanes 0 to 31"
//
// Each warp reads the lanes of the next.
#define WARP_OF_LANES ((warp_id() + 1) % 4)
#include "gemm.cuh"
