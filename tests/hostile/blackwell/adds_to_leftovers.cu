// expect: SANITIZER_ERROR UNINITIALIZED_READ workload=gemm_n256_k256/M=256 arch=sm_100a match="the first product wants enable-input-d false"
//
// The first product adds to what an earlier block left.
#define ACCUMULATES true
#include "gemm.cuh"
