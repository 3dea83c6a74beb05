// expect: SANITIZER_ERROR,INCORRECT_NUMERICAL SHARED_RACE,UNINITIALIZED_READ,MISMATCH workload=gemm_n256_k256/M=64
// on cuda: CORRECT,INCORRECT_NUMERICAL OK,MISMATCH
//
// The first block fetches sums behind a barrier of its own alone.
#define MEETS_WHEN_WRITTEN false
#include "split_k.cuh"
