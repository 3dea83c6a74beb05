// expect: CORRECT OK workload=gemm_n256_k256/M=64
//
// What the others here get wrong, done right: the first block fetches, cluster barriers before and behind.
#include "split_k.cuh"
