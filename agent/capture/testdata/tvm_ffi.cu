// tvm-ffi entry points: one that is right, and three that are not.
#include <cuda_bf16.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

using tvm::ffi::TensorView;

__global__ void kernel(const __nv_bfloat16* a, __nv_bfloat16* c, int64_t n) { c[0] = a[n]; }

void Launch(TensorView a, TensorView b, TensorView c) {
  const auto stream = static_cast<cudaStream_t>(TVMFFIEnvGetStream(a.device().device_type, a.device().device_id));
  kernel<<<1, 32, 0, stream>>>(static_cast<const __nv_bfloat16*>(a.data_ptr()), static_cast<__nv_bfloat16*>(c.data_ptr()),
                               a.size(0));
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(right, Launch);

void Check(TensorView a, TensorView b, TensorView c) { TVM_FFI_ICHECK_EQ(a.ndim(), 3) << "A must have three axes"; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(checks, Check);

void Two(TensorView a, TensorView c) {}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(too_few, Two);

void Wrong(TensorView a, int64_t b, TensorView c) {}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(wrong_type, Wrong);
