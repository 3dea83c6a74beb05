// expect: SANITIZER_ERROR DESCRIPTOR_INVALID workload=gemm_n256_k256/M=256 arch=sm_100a match="descriptor of A says a swizzle of 64 bytes; the tile was laid down by a tensor map with a swizzle of 128 bytes"
//
// The descriptor has another swizzle than the tensor map.
#define SWIZZLE_OF_A Swizzle::b64
#include "gemm.cuh"
