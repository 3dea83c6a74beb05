// expect: CAPTURE_ERROR ENTRY_MISSING workload=gemm_n256_k256/M=64 match="run"
// There is no entry point.
#include <cuda_runtime.h>
__global__ void kernel() {}
extern "C" void launch(cudaStream_t stream) { kernel<<<1, 1, 0, stream>>>(); }
