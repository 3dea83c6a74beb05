// expect: INCORRECT_NUMERICAL MISMATCH workload=gemm_n256_k256/M=256
//
// The descriptor of B goes four rows where the pattern has eight.
#define STRIDE (4 * 128)
#include "gemm.cuh"
