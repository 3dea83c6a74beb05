// expect: SANITIZER_ERROR,INCORRECT_NUMERICAL SHARED_RACE,MISMATCH workload=gemm_n256_k256/M=64 match="no cluster"
// on cuda: CORRECT,INCORRECT_NUMERICAL OK,MISMATCH
//
// The second block brings the next sums while the first one may still read the ones before.
#define PUSHES true
#define MEETS_WHEN_READ false
#include "split_k.cuh"
