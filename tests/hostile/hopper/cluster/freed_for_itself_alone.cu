// expect: TIMEOUT MBARRIER_DEADLOCK workload=gemm_n256_k256/M=256 match="8 arrivals"
// on cuda: TIMEOUT KERNEL_TIMEOUT
//
// Consumers tell only their own block that a stage is empty.
#define FREED_IN lane_id() == rank
#include "gemm_cluster.cuh"
