// expect: COMPILE_ERROR PTXAS_ERROR workload=gemm_n256_k256/M=256 arch=sm_100a match="cta_group::1.* and CTA pair granularity"
//
// The right to allocate is given up as if the block were alone.
#define RELINQUISHES 1
#include "gemm_pair.cuh"
