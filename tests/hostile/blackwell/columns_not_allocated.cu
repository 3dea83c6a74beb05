// expect: SANITIZER_ERROR TENSOR_MEMORY_MISUSE workload=gemm_n256_k256/M=256 arch=sm_100a match="D in columns 0 to 127 of tensor memory, which are not all allocated"
//
// D is wider than what was allocated.
#define COLUMNS (kTileN / 2)
#include "gemm.cuh"
