// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 match="expect_tx asked for 24592 bytes .* the copies deliver 24576"
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// More bytes are announced than the copies bring.
#define BYTES (sizeof shared.a[0] + sizeof shared.b[0] + 16)
#include "gemm.cuh"
