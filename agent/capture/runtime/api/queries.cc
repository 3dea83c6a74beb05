// Runtime and driver API: harmless questions about limits, pools and kernels.
#include "agent/capture/runtime/queries.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "agent/capture/runtime/api/shared_api.h"
#include "agent/capture/runtime/kernels.h"
#include "agent/capture/runtime/operations.h"
#include "agent/capture/runtime/session.h"

namespace capture = sassay::capture;
using capture::ApiScope;

namespace {

// Both APIs' error types from one answer.
struct Answer {
  int code;
  operator cudaError_t() const { return static_cast<cudaError_t>(code); }
  operator CUresult() const { return static_cast<CUresult>(code); }
};

Answer SetLimit(const char* function, int limit, size_t value) {
  ApiScope scope(function);
  return {scope.Return(capture::SetLimit(function, limit, value), "limit " + std::to_string(limit))};
}

Answer GetLimit(const char* function, int limit, size_t* value) {
  ApiScope scope(function);
  return {scope.Return(capture::GetLimit(limit, value), "limit " + std::to_string(limit))};
}

Answer SetPool(const char* function, int attribute, const void* value) {
  ApiScope scope(function);
  return {scope.Return(capture::SetPoolAttribute(attribute, value), "attribute " + std::to_string(attribute))};
}

Answer GetPool(const char* function, int attribute, void* value) {
  ApiScope scope(function);
  return {scope.Return(capture::GetPoolAttribute(attribute, value), "attribute " + std::to_string(attribute))};
}

Answer DefaultPool(void** pool) {
  static char the_pool;
  if (pool == nullptr) return {capture::kInvalidValue};
  *pool = &the_pool;
  return {0};
}

Answer ParameterInfo(const char* function, const void* kernel, size_t index, size_t* offset, size_t* size) {
  ApiScope scope(function);
  return {scope.Return(capture::ParameterInfo(function, kernel, index, offset, size),
                       "parameter " + std::to_string(index))};
}

Answer FunctionAttribute(const char* function, const void* kernel, int attribute, int* value) {
  ApiScope scope(function);
  return {scope.Return(capture::FunctionAttribute(function, kernel, attribute, value),
                       "attribute " + std::to_string(attribute))};
}

Answer KernelName(const char* function, const void* kernel, const char** name) {
  ApiScope scope(function);
  if (name == nullptr) return {scope.Return(capture::kInvalidValue)};
  *name = capture::RequireKernel(function, kernel).symbol.c_str();
  return {0};
}

unsigned int device_flags = 0;

}  // namespace

extern "C" {

// --- limits ---

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) { return SetLimit("cudaDeviceSetLimit", limit, value); }
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) { return GetLimit("cudaDeviceGetLimit", limit, value); }
CUresult cuCtxSetLimit(CUlimit limit, size_t value) { return SetLimit("cuCtxSetLimit", limit, value); }
CUresult cuCtxGetLimit(size_t* value, CUlimit limit) { return GetLimit("cuCtxGetLimit", limit, value); }

// --- the device ---

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  device_flags = flags;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (flags != nullptr) *flags = device_flags;
  return flags != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}
CUresult cuCtxGetFlags(unsigned int* flags) { return static_cast<CUresult>(cudaGetDeviceFlags(flags)); }

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  if (config != nullptr) *config = cudaFuncCachePreferNone;
  return config != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}
CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  if (config != nullptr) *config = CU_FUNC_CACHE_PREFER_NONE;
  return config != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuCtxSetCacheConfig(CUfunc_cache) { return CUDA_SUCCESS; }
CUresult cuKernelSetCacheConfig(CUkernel, CUfunc_cache, CUdevice) { return CUDA_SUCCESS; }

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return static_cast<CUresult>(cudaDeviceGetStreamPriorityRange(least, greatest));
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice) {
  ApiScope scope("cuDeviceComputeCapability");
  const int code = capture::DeviceAttribute(cudaDevAttrComputeCapabilityMajor, major);
  return static_cast<CUresult>(
      scope.Return(code != 0 ? code : capture::DeviceAttribute(cudaDevAttrComputeCapabilityMinor, minor)));
}

// --- memory pools ---

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int) {
  return DefaultPool(reinterpret_cast<void**>(pool));
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int) { return DefaultPool(reinterpret_cast<void**>(pool)); }
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice) { return DefaultPool(reinterpret_cast<void**>(pool)); }
CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice) { return DefaultPool(reinterpret_cast<void**>(pool)); }

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  return SetPool("cudaMemPoolSetAttribute", attribute, value);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  return GetPool("cudaMemPoolGetAttribute", attribute, value);
}
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute attribute, void* value) {
  return SetPool("cuMemPoolSetAttribute", attribute, value);
}
CUresult cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute attribute, void* value) {
  return GetPool("cuMemPoolGetAttribute", attribute, value);
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
CUresult cuMemPoolTrimTo(CUmemoryPool, size_t) { return CUDA_SUCCESS; }

// --- kernels ---

cudaError_t cudaFuncGetParamInfo(const void* kernel, size_t index, size_t* offset, size_t* size) {
  return ParameterInfo("cudaFuncGetParamInfo", kernel, index, offset, size);
}
CUresult cuFuncGetParamInfo(CUfunction kernel, size_t index, size_t* offset, size_t* size) {
  return ParameterInfo("cuFuncGetParamInfo", kernel, index, offset, size);
}
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  return ParameterInfo("cuKernelGetParamInfo", kernel, index, offset, size);
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction kernel) {
  return FunctionAttribute("cuFuncGetAttribute", kernel, attribute, value);
}
CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice) {
  return FunctionAttribute("cuKernelGetAttribute", kernel, attribute, value);
}

cudaError_t cudaFuncGetName(const char** name, const void* kernel) {
  return KernelName("cudaFuncGetName", kernel, name);
}
CUresult cuFuncGetName(const char** name, CUfunction kernel) { return KernelName("cuFuncGetName", kernel, name); }
CUresult cuKernelGetName(const char** name, CUkernel kernel) { return KernelName("cuKernelGetName", kernel, name); }

}  // extern "C"
