// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 arch=sm_100a match="expect_tx asked for 65536 bytes .* the copies deliver 32768"
//
// The odd block never hears that a stage is empty, and loads no more.
#define EMPTY_OF 1
#include "gemm_pair.cuh"
