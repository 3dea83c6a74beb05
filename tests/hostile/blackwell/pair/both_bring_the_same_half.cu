// expect: INCORRECT_NUMERICAL MISMATCH workload=gemm_n256_k256/M=256 arch=sm_100a
//
// Both blocks bring the first half of B.
#define FIRST_OF_B 0
#include "gemm_pair.cuh"
