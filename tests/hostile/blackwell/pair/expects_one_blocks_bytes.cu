// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 arch=sm_100a
//
// The even block announces its own bytes, not those of the odd one.
#define BYTES ((kRows + kColumns) * kDepth * sizeof(Bf16))
#include "gemm_pair.cuh"
