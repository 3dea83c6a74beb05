// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 arch=sm_100a match="expect_tx asked for 65536 bytes .* the copies deliver 32768"
//
// The odd block loads for a barrier of its own, for which nobody waits.
#define LOADS tma_load
#include "gemm_pair.cuh"
