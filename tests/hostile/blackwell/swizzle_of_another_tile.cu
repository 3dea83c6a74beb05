// expect: INCORRECT_NUMERICAL MISMATCH workload=gemm_n256_k256/M=256 arch=sm_100a
//
// The descriptor has another swizzle than the tensor map.
#define SWIZZLE_OF_A Swizzle::b64
#include "gemm.cuh"
