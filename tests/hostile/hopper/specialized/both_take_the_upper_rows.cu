// expect: INCORRECT_NUMERICAL MISMATCH workload=gemm_n256_k256/M=256
//
// Both warpgroups multiply the upper half of A.
#define ROWS_OF(consumer) 0
#include "gemm_specialized.cuh"
