// expect: TIMEOUT BARRIER_DEADLOCK workload=gemm_n256_k256/M=256 match="at barrier 1, where 64 of 128"
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// Two warps wait at one named barrier and two at another, for 128 threads each.
#define NAMED_BARRIER (1 + warp_id() / 2)
#include "gemm_cluster.cuh"
