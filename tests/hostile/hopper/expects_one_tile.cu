// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 match="expect_tx asked for 16384 bytes .* the copies deliver 24576"
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// The bytes of one tile are announced, those of two come.
#define BYTES sizeof shared.b[0]
#include "gemm.cuh"
