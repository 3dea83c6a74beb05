// expect: SANITIZER_ERROR,INCORRECT_NUMERICAL SHARED_RACE,UNINITIALIZED_READ,MISMATCH workload=gemm_n256_k256/M=64
// on cuda: CORRECT,INCORRECT_NUMERICAL OK,MISMATCH
//
// The second block arrives at the mbarrier before it has brought what it tells of.
#define PUSHES true
#define SIGNALS true
#define SIGNALS_EARLY true
#include "split_k.cuh"
