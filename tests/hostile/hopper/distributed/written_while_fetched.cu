// expect: SANITIZER_ERROR,INCORRECT_NUMERICAL SHARED_RACE,MISMATCH workload=gemm_n256_k256/M=64 match="no cluster"
// on cuda: CORRECT,INCORRECT_NUMERICAL OK,MISMATCH
//
// The next sums are written while the first block may still fetch the ones before.
#define MEETS_WHEN_READ false
#include "split_k.cuh"
