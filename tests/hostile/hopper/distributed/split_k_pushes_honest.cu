// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// The second block brings its sums, cluster barriers before and behind.
#define PUSHES true
#include "split_k.cuh"
