// Runtime API: the device, errors, and function look-up.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>

#include "agent/capture/runtime/api/device_properties_12.h"
#include "agent/capture/runtime/operations.h"
#include "agent/capture/runtime/session.h"

namespace capture = sassay::capture;
using capture::ApiScope;
using capture::Session;

namespace {

constexpr int kVersion = CUDART_VERSION;

int AsInt(int attribute) { return static_cast<int>(Session::Get().Attribute(attribute)); }
size_t AsSize(int attribute) { return static_cast<size_t>(Session::Get().Attribute(attribute)); }

// Which fields of the struct are read cannot be seen, so the ones that decide launches are all assumed.
void AssumeProperties() {
  for (int attribute : {cudaDevAttrMultiProcessorCount, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                        cudaDevAttrMaxSharedMemoryPerMultiprocessor, cudaDevAttrMaxThreadsPerMultiProcessor,
                        cudaDevAttrMaxRegistersPerMultiprocessor, cudaDevAttrL2CacheSize,
                        cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor}) {
    int value = 0;
    capture::DeviceAttribute(attribute, &value);
  }
}

template <typename Properties>
void FillLimits(Properties& p) {
  p.sharedMemPerBlock = AsSize(cudaDevAttrMaxSharedMemoryPerBlock);
  p.sharedMemPerBlockOptin = AsSize(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  p.sharedMemPerMultiprocessor = AsSize(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  p.reservedSharedMemPerBlock = AsSize(cudaDevAttrReservedSharedMemoryPerBlock);
  p.regsPerBlock = AsInt(cudaDevAttrMaxRegistersPerBlock);
  p.regsPerMultiprocessor = AsInt(cudaDevAttrMaxRegistersPerMultiprocessor);
  p.warpSize = AsInt(cudaDevAttrWarpSize);
  p.maxThreadsPerBlock = AsInt(cudaDevAttrMaxThreadsPerBlock);
  p.maxThreadsPerMultiProcessor = AsInt(cudaDevAttrMaxThreadsPerMultiProcessor);
  p.maxBlocksPerMultiProcessor = AsInt(cudaDevAttrMaxBlocksPerMultiprocessor);
  for (int axis = 0; axis < 3; ++axis) {
    p.maxThreadsDim[axis] = AsInt(cudaDevAttrMaxBlockDimX + axis);
    p.maxGridSize[axis] = AsInt(cudaDevAttrMaxGridDimX + axis);
  }
}

template <typename Properties>
void FillMemory(Properties& p) {
  p.totalGlobalMem = Session::Get().task().device_memory_bytes;
  p.totalConstMem = AsSize(cudaDevAttrTotalConstantMemory);
  p.memPitch = AsSize(cudaDevAttrMaxPitch);
  p.memoryBusWidth = AsInt(cudaDevAttrGlobalMemoryBusWidth);
  p.l2CacheSize = AsInt(cudaDevAttrL2CacheSize);
  p.persistingL2CacheMaxSize = AsInt(cudaDevAttrMaxPersistingL2CacheSize);
  p.accessPolicyMaxWindowSize = AsInt(cudaDevAttrMaxAccessPolicyWindowSize);
  p.unifiedAddressing = 1;
  p.memoryPoolsSupported = AsInt(cudaDevAttrMemoryPoolsSupported);
}

template <typename Properties>
cudaError_t FillProperties(Properties* properties, int device) {
  ApiScope scope("cudaGetDeviceProperties");
  if (device != 0) return static_cast<cudaError_t>(scope.Return(capture::kInvalidDevice));
  std::memset(properties, 0, sizeof *properties);
  const std::string& model = Session::Get().task().device_model;
  std::memcpy(properties->name, model.data(), std::min(model.size(), sizeof properties->name - 1));
  properties->major = AsInt(cudaDevAttrComputeCapabilityMajor);
  properties->minor = AsInt(cudaDevAttrComputeCapabilityMinor);
  properties->multiProcessorCount = AsInt(cudaDevAttrMultiProcessorCount);
  properties->cooperativeLaunch = AsInt(cudaDevAttrCooperativeLaunch);
  properties->clusterLaunch = AsInt(cudaDevAttrClusterLaunch);
  properties->concurrentKernels = 1;
  properties->streamPrioritiesSupported = 1;
  properties->asyncEngineCount = AsInt(cudaDevAttrAsyncEngineCount);
  properties->ECCEnabled = 1;
  FillLimits(*properties);
  FillMemory(*properties);
  AssumeProperties();
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  ApiScope scope("cudaSetDevice");
  return static_cast<cudaError_t>(scope.Return(device == 0 ? 0 : capture::kInvalidDevice, "only device 0 exists"));
}

cudaError_t cudaInitDevice(int, unsigned int, unsigned int) { return cudaSuccess; }
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaCtxResetPersistingL2Cache(void) { return cudaSuccess; }

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  ApiScope scope("cudaDeviceGetAttribute");
  const int code = device == 0 ? capture::DeviceAttribute(attribute, value) : capture::kInvalidDevice;
  return static_cast<cudaError_t>(scope.Return(code, "attribute " + std::to_string(static_cast<int>(attribute))));
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return FillProperties(properties, device);
}

// What CUDA 12's headers call it.
cudaError_t cudaGetDeviceProperties_v2(capture::DeviceProperties12* properties, int device) {
  return FillProperties(properties, device);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = kVersion;
  return cudaSuccess;
}

cudaError_t cudaGetLastError(void) {
  const int error = capture::LastError();
  capture::LastError() = 0;
  return static_cast<cudaError_t>(error);
}

cudaError_t cudaPeekAtLastError(void) { return static_cast<cudaError_t>(capture::LastError()); }

const char* cudaGetErrorName(cudaError_t error) {
  switch (static_cast<int>(error)) {
#define X(name, number) \
  case number:          \
    return #name;
#include "agent/capture/runtime/error_names.inc"
#undef X
    default:
      return "unrecognized error code";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNotSupported:
      return "operation not supported";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    default:
      return cudaGetErrorName(error);
  }
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
  ApiScope scope("cudaGetDriverEntryPoint");
  *function = capture::DriverFunction(symbol);
  if (status != nullptr)
    *status = *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPoint(symbol, function, flags, status);
}

}  // extern "C"
