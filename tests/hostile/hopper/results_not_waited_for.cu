// expect: SANITIZER_ERROR ASYNC_RACE workload=gemm_n256_k256/M=256
// on cuda: CORRECT,INCORRECT_NUMERICAL OK,MISMATCH,TIMED_OUTPUT_WRONG
//
// Nobody waits for the products.
#define WAITS false
#include "gemm.cuh"
