// expect: SANITIZER_ERROR DESCRIPTOR_INVALID workload=gemm_n256_k256/M=256 match="descriptor of B says a swizzle of 64 bytes; the tile was laid down by a tensor map with a swizzle of 128 bytes"
// on cuda: INCORRECT_NUMERICAL MISMATCH
//
// The descriptor has another swizzle than the tensor map.
#define SWIZZLE_OF_B Swizzle::b64
#include "gemm.cuh"
