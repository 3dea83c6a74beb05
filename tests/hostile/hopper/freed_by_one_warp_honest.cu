// expect: CORRECT OK workload=gemm_n256_k256/M=256
//
// Twin of stage_freed_early: one warp of the four says that a stage has been used, and may, as they multiply together.
#define ARRIVALS_WANTED 1
#define FREES warp_id() == 2
#include "gemm.cuh"
