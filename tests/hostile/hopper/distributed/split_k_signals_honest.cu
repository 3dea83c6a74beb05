// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// The second block brings its sums and arrives at the first one's mbarrier.
#define PUSHES true
#define SIGNALS true
#include "split_k.cuh"
