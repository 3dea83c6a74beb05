// expect: CORRECT OK workload=gemm_n256_k256/M=64
// The entry point that PTXBench and FlashInfer-Bench candidates have.
#include <cuda_bf16.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

__global__ void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int64_t n, int64_t k) {
  const int64_t column = threadIdx.x, row = blockIdx.x;
  float sum = 0.f;
  for (int64_t i = 0; i < k; ++i) sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  c[row * n + column] = __float2bfloat16(sum);
}

void run(tvm::ffi::TensorView A, tvm::ffi::TensorView B, tvm::ffi::TensorView C) {
  TVM_FFI_ICHECK(A.size(1) == B.size(1)) << "inner extents differ";
  auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(A.device().device_type, A.device().device_id));
  gemm<<<A.size(0), B.size(0), 0, stream>>>(static_cast<const __nv_bfloat16*>(A.data_ptr()), static_cast<const __nv_bfloat16*>(B.data_ptr()),
                                            static_cast<__nv_bfloat16*>(C.data_ptr()), B.size(0), A.size(1));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
