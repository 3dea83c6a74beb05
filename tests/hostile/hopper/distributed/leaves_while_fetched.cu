// expect: SANITIZER_ERROR OOB_SHARED workload=gemm_n256_k256/M=64 match="which (has|may have) exited"
// on cuda: CORRECT,INCORRECT_NUMERICAL,RUNTIME_ERROR OK,MISMATCH,ILLEGAL_ADDRESS,LAUNCH_FAILED
//
// The second block may leave before the first one has fetched its last sums.
#define MEETS_LAST false
#include "split_k.cuh"
