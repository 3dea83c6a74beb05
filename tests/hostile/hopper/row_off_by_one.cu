// expect: INCORRECT_NUMERICAL MISMATCH workload=gemm_n256_k256/M=256
//
// The boxes of B begin a row too far.
#define ROW_OF_B (column + 1)
#include "gemm.cuh"
