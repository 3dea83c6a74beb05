// expect: SANITIZER_ERROR OOB_SHARED workload=gemm_n256_k256/M=64 match="may not have begun"
// on cuda: CORRECT,INCORRECT_NUMERICAL,RUNTIME_ERROR OK,MISMATCH,ILLEGAL_ADDRESS,LAUNCH_FAILED
//
// The second block brings its sums to a block that may not have begun.
#define PUSHES true
#define MEETS_FIRST false
#include "split_k.cuh"
