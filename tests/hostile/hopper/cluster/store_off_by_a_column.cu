// expect: RUNTIME_ERROR ILLEGAL_INSTRUCTION workload=gemm_n256_k256/M=256 match="TMA takes multiples of 16 bytes"
// on cuda: RUNTIME_ERROR,SANITIZER_ERROR ILLEGAL_INSTRUCTION,LAUNCH_FAILED
//
// The boxes of C begin a column too far.
#define COLUMN_OF_C (column + 64 * half + 1)
#include "gemm_cluster.cuh"
