// expect: SANITIZER_ERROR ASYNC_RACE workload=gemm_n256_k256/M=256 match="by a warp that has executed no wgmma.fence"
// on cuda: CORRECT OK
//
// No wgmma.fence comes before the products. The ISA leaves that undefined; ptxas 13.0 puts one there itself and says so.
#define FENCES false
#include "gemm.cuh"
