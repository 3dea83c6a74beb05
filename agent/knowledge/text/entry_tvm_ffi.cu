
void run(tvm::ffi::TensorView A, tvm::ffi::TensorView B, tvm::ffi::TensorView C) {
  Launch(static_cast<const __nv_bfloat16*>(A.data_ptr()), static_cast<const __nv_bfloat16*>(B.data_ptr()),
         static_cast<__nv_bfloat16*>(C.data_ptr()), A.size(0),
         static_cast<cudaStream_t>(TVMFFIEnvGetStream(A.device().device_type, A.device().device_id)));
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(run, run);
