// expect: SANITIZER_ERROR BARRIER_MISUSE workload=gemm_n256_k256/M=256 match="no mbarrier has been initialised at"
// on cuda: RUNTIME_ERROR,SANITIZER_ERROR LAUNCH_FAILED,ILLEGAL_INSTRUCTION
//
// One stage has barriers that nobody has initialised.
#define BARRIERS (kStages - 1)
#include "gemm.cuh"
