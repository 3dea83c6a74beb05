// expect: RUNTIME_ERROR ILLEGAL_INSTRUCTION workload=gemm_n256_k256/M=256 match="TMA takes multiples of 16 bytes"
// on cuda: RUNTIME_ERROR,SANITIZER_ERROR ILLEGAL_INSTRUCTION,LAUNCH_FAILED
//
// The boxes of A begin a column too far. An H200 calls that an illegal instruction.
#define FIRST_OF_K (k + 1)
#include "gemm.cuh"
