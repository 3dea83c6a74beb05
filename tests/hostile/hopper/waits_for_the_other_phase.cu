// expect: SANITIZER_ERROR ASYNC_RACE,UNINITIALIZED_READ workload=gemm_n256_k256/M=256
// on cuda: RUNTIME_ERROR,SANITIZER_ERROR,INCORRECT_NUMERICAL,TIMEOUT LAUNCH_FAILED,ILLEGAL_INSTRUCTION,MISMATCH,KERNEL_TIMEOUT
//
// The consumer waits for the phase before, which is over.
#define PARITY_OF_FULL (place.parity ^ 1)
#include "gemm.cuh"
