// Driver API: everything but memory and tensor maps. The one module is the candidate's own.
#include <cuda.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "agent/capture/runtime/api/shared_api.h"
#include "agent/capture/runtime/kernels.h"
#include "agent/capture/runtime/launch.h"
#include "agent/capture/runtime/memory.h"
#include "agent/capture/runtime/operations.h"
#include "agent/capture/runtime/streams.h"

extern "C" const char* cudaGetErrorName(int error);
extern "C" const char* cudaGetErrorString(int error);

namespace capture = sassay::capture;
using capture::ApiScope;
using capture::FindingCode;
using capture::LaunchRequest;
using capture::Session;

namespace {

char the_context, the_module;

CUresult OpenModule(const char* function, const void* image, void** module) {
  ApiScope scope(function);
  if (!capture::IsRegisteredImage(image)) {
    Session::Get().Refuse(FindingCode::kForbiddenLibrary,
                          std::string(function) +
                              " loads a GPU image at run time: only kernels compiled from the "
                              "candidate's own source can be launched");
  }
  *module = &the_module;
  return CUDA_SUCCESS;
}

CUresult FunctionByName(const char* function, void** handle, const char* name) {
  ApiScope scope(function);
  *handle = capture::FindKernelByName(name);
  return static_cast<CUresult>(scope.Return(*handle != nullptr ? 0 : capture::kNotFound, name));
}

CUresult GlobalByName(const char* function, CUdeviceptr* address, size_t* bytes, const char* name) {
  ApiScope scope(function);
  capture::SymbolInfo* symbol = capture::FindSymbolByName(name);
  if (symbol == nullptr) return static_cast<CUresult>(scope.Return(capture::kNotFound, name));
  if (address != nullptr) *address = capture::AddressSpace::Get().SymbolAddress(*symbol);
  if (bytes != nullptr) *bytes = symbol->size_bytes;
  return CUDA_SUCCESS;
}

// CU_LAUNCH_PARAM_BUFFER_POINTER and …_SIZE, until CU_LAUNCH_PARAM_END.
void ReadExtra(LaunchRequest& request, void** extra) {
  for (; extra != nullptr && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) request.packed = static_cast<const char*>(extra[1]);
    if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) request.packed_bytes = *static_cast<size_t*>(extra[1]);
  }
}

LaunchRequest Request(const char* function, CUfunction kernel, void** arguments, void** extra) {
  LaunchRequest request;
  request.function = function;
  request.kernel = &capture::RequireKernel(function, kernel);
  request.site = Session::Get().FindCallSite();
  request.arguments = arguments;
  if (arguments == nullptr) ReadExtra(request, extra);
  return request;
}

CUresult Name(const char* text, const char** out) {
  *out = text;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int) { return CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int* version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = 0;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(name, static_cast<size_t>(length), "%s", Session::Get().task().device_model.c_str());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  ApiScope scope("cuDeviceGetAttribute");
  return static_cast<CUresult>(scope.Return(capture::DeviceAttribute(attribute, value),
                                            "attribute " + std::to_string(static_cast<int>(attribute))));
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) {
  *bytes = Session::Get().task().device_memory_bytes;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(&the_context);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* context) { return cuDevicePrimaryCtxRetain(context, 0); }
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext* context) { return cuDevicePrimaryCtxRetain(context, 0); }
CUresult cuCtxGetDevice(CUdevice* device) { return cuDeviceGet(device, 0); }

CUresult cuCtxSynchronize(void) {
  ApiScope scope("cuCtxSynchronize");
  capture::HostWaitsForDevice();
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return OpenModule("cuModuleLoadData", image, reinterpret_cast<void**>(module));
}
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*, void**) {
  return OpenModule("cuModuleLoadDataEx", image, reinterpret_cast<void**>(module));
}
CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return OpenModule("cuModuleLoadFatBinary", image, reinterpret_cast<void**>(module));
}
CUresult cuModuleLoad(CUmodule* module, const char*) {
  return OpenModule("cuModuleLoad", nullptr, reinterpret_cast<void**>(module));
}
CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned int, CUlibraryOption*,
                           void**, unsigned int) {
  return OpenModule("cuLibraryLoadData", image, reinterpret_cast<void**>(library));
}
CUresult cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
CUresult cuFuncGetModule(CUmodule* module, CUfunction) {
  *module = reinterpret_cast<CUmodule>(&the_module);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char* name) {
  return FunctionByName("cuModuleGetFunction", reinterpret_cast<void**>(function), name);
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char* name) {
  return FunctionByName("cuLibraryGetKernel", reinterpret_cast<void**>(kernel), name);
}
CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  ApiScope scope("cuKernelGetFunction");
  *function = reinterpret_cast<CUfunction>(&capture::RequireKernel("cuKernelGetFunction", kernel));
  return CUDA_SUCCESS;
}
CUresult cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule, const char* name) {
  return GlobalByName("cuModuleGetGlobal", address, bytes, name);
}
CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary, const char* name) {
  return GlobalByName("cuLibraryGetGlobal", address, bytes, name);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return static_cast<CUresult>(capture::SetFunctionAttribute("cuFuncSetAttribute", function, attribute, value));
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice) {
  return static_cast<CUresult>(capture::SetFunctionAttribute("cuKernelSetAttribute", kernel, attribute, value));
}
CUresult cuFuncSetCacheConfig(CUfunction, CUfunc_cache) { return CUDA_SUCCESS; }

CUresult cuLaunchKernel(CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void** arguments, void** extra) {
  ApiScope scope("cuLaunchKernel");
  LaunchRequest request = Request("cuLaunchKernel", kernel, arguments, extra);
  const uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
  std::memcpy(request.grid, grid, sizeof grid);
  std::memcpy(request.block, block, sizeof block);
  request.dynamic_shared_bytes = shared;
  request.stream = stream;
  return static_cast<CUresult>(capture::RecordLaunch(request));
}

CUresult cuLaunchCooperativeKernel(CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, CUstream stream, void** arguments) {
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  const CUlaunchConfig config{gx, gy, gz, bx, by, bz, shared, stream, &cooperative, 1};
  return cuLaunchKernelEx(&config, kernel, arguments, nullptr);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction kernel, void** arguments, void** extra) {
  ApiScope scope("cuLaunchKernelEx");
  LaunchRequest request = Request("cuLaunchKernelEx", kernel, arguments, extra);
  const uint32_t grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
  const uint32_t block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
  std::memcpy(request.grid, grid, sizeof grid);
  std::memcpy(request.block, block, sizeof block);
  request.dynamic_shared_bytes = config->sharedMemBytes;
  request.stream = config->hStream;
  return static_cast<CUresult>(
      capture::LaunchWithAttributes("cuLaunchKernelEx", request, config->attrs, config->numAttrs));
}

CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  ApiScope scope("cuStreamCreate");
  *stream = static_cast<CUstream>(capture::CreateStream());
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int flags, int) { return cuStreamCreate(stream, flags); }
CUresult cuStreamDestroy(CUstream stream) {
  ApiScope scope("cuStreamDestroy");
  return static_cast<CUresult>(scope.Return(capture::DestroyStream(stream) ? 0 : CUDA_ERROR_INVALID_HANDLE));
}
CUresult cuStreamSynchronize(CUstream stream) {
  ApiScope scope("cuStreamSynchronize");
  capture::HostWaitsForStream("cuStreamSynchronize", stream);
  return CUDA_SUCCESS;
}
CUresult cuStreamQuery(CUstream stream) { return cuStreamSynchronize(stream); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int) {
  ApiScope scope("cuStreamWaitEvent");
  capture::StreamWaitsForEvent("cuStreamWaitEvent", stream, event);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned int) {
  ApiScope scope("cuEventCreate");
  *event = static_cast<CUevent>(capture::CreateEvent());
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  ApiScope scope("cuEventDestroy");
  return static_cast<CUresult>(scope.Return(capture::DestroyEvent(event) ? 0 : CUDA_ERROR_INVALID_HANDLE));
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  ApiScope scope("cuEventRecord");
  capture::RecordEvent("cuEventRecord", event, stream);
  return CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  ApiScope scope("cuEventSynchronize");
  capture::HostWaitsForEvent("cuEventSynchronize", event);
  return CUDA_SUCCESS;
}
CUresult cuEventQuery(CUevent event) { return cuEventSynchronize(event); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
  ApiScope scope("cuEventElapsedTime");
  *milliseconds = capture::ElapsedTime("cuEventElapsedTime");
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char** name) { return Name(cudaGetErrorName(error), name); }
CUresult cuGetErrorString(CUresult error, const char** text) { return Name(cudaGetErrorString(error), text); }

CUresult cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  ApiScope scope("cuGetProcAddress");
  *function = capture::DriverFunction(symbol);
  if (status != nullptr)
    *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // extern "C"
