// expect: SANITIZER_ERROR ASYNC_RACE,SHARED_RACE workload=gemm_n256_k256/M=256
// on cuda: CORRECT,INCORRECT_NUMERICAL OK,MISMATCH,TIMED_OUTPUT_WRONG
//
// A stage is given back before the products that read it are done.
#define FREES_EARLY true
#include "gemm.cuh"
