// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 arch=sm_100a match="expect_tx asked for 32896 bytes .* the copies deliver 32768"
//
// More bytes are announced than the copies bring.
#define BYTES_MORE 128
#include "gemm.cuh"
