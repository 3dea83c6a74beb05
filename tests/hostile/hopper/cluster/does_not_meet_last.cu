// expect: SANITIZER_ERROR OOB_SHARED workload=gemm_n256_k256/M=256 match="which (has|may have) exited"
// on cuda: CORRECT OK
//
// A block may leave while the other one still signals its barriers.
#define MEETS_LAST false
#include "gemm_cluster.cuh"
