// expect: INCORRECT_NUMERICAL MISMATCH workload=gemm_n256_k256/M=256
//
// B is walked by 16 bytes where an instruction takes 32.
#define STEP 1
#include "gemm.cuh"
