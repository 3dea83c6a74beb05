// expect: SANITIZER_ERROR OOB_SHARED workload=gemm_n256_k256/M=64 match="block 0 of the cluster, which may not have begun"
// on cuda: CORRECT,INCORRECT_NUMERICAL,RUNTIME_ERROR,SANITIZER_ERROR OK,MISMATCH,ILLEGAL_ADDRESS,LAUNCH_FAILED,OOB_SHARED
//
// The second block brings its sums to a block that may not have begun.
#define PUSHES true
#define MEETS_FIRST false
#include "split_k.cuh"
