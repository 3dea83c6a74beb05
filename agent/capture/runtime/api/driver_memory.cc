// Driver API: memory. cuda.h renames most of these to their newest versions (cuMemAlloc -> cuMemAlloc_v2).
#include <cuda.h>

#include <string>

#include "agent/capture/runtime/memory.h"
#include "agent/capture/runtime/operations.h"
#include "agent/capture/runtime/queries.h"
#include "agent/capture/runtime/session.h"
#include "agent/capture/runtime/streams.h"

namespace capture = sassay::capture;
using capture::ApiScope;

namespace {

CUresult Return(ApiScope& scope, int code, const std::string& detail = "") {
  return static_cast<CUresult>(scope.Return(code, detail));
}

CUresult AllocateOnStream(const char* function, CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  ApiScope scope(function);
  uint64_t address = 0;
  const int code = capture::Allocate(&address, bytes, capture::StreamNumber(function, stream));
  *pointer = address;
  return Return(scope, bytes == 0 ? capture::kInvalidValue : code, std::to_string(bytes) + " bytes");
}

CUresult CopyOnStream(const char* function, CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  ApiScope scope(function);
  return Return(scope, capture::Copy(function, reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes,
                                     capture::StreamNumber(function, stream)));
}

CUresult FillOnStream(const char* function, CUdeviceptr to, uint32_t value, uint32_t element, size_t count,
                      CUstream stream) {
  ApiScope scope(function);
  return Return(scope,
                capture::Fill(function, to, value, element, count, 1, 0, capture::StreamNumber(function, stream)));
}

CUdeviceptr Host(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* pointer, size_t bytes) {
  return AllocateOnStream("cuMemAlloc", pointer, bytes, nullptr);
}
CUresult cuMemAllocAsync(CUdeviceptr* pointer, size_t bytes, CUstream stream) {
  return AllocateOnStream("cuMemAllocAsync", pointer, bytes, stream);
}

CUresult cuMemFree(CUdeviceptr pointer) {
  ApiScope scope("cuMemFree");
  return Return(scope, capture::Free("cuMemFree", pointer, 0));
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream) {
  ApiScope scope("cuMemFreeAsync");
  return Return(scope, capture::Free("cuMemFreeAsync", pointer, capture::StreamNumber("cuMemFreeAsync", stream)));
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return CopyOnStream("cuMemcpy", to, from, bytes, nullptr);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyOnStream("cuMemcpyAsync", to, from, bytes, stream);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return CopyOnStream("cuMemcpyHtoD", to, Host(from), bytes, nullptr);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return CopyOnStream("cuMemcpyHtoDAsync", to, Host(from), bytes, stream);
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return CopyOnStream("cuMemcpyDtoD", to, from, bytes, nullptr);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyOnStream("cuMemcpyDtoDAsync", to, from, bytes, stream);
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return CopyOnStream("cuMemcpyDtoH", Host(to), from, bytes, nullptr);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return CopyOnStream("cuMemcpyDtoHAsync", Host(to), from, bytes, stream);
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return FillOnStream("cuMemsetD8", to, value, 1, count, nullptr);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return FillOnStream("cuMemsetD8Async", to, value, 1, count, stream);
}
CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  return FillOnStream("cuMemsetD16", to, value, 2, count, nullptr);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return FillOnStream("cuMemsetD16Async", to, value, 2, count, stream);
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count) {
  return FillOnStream("cuMemsetD32", to, value, 4, count, nullptr);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count, CUstream stream) {
  return FillOnStream("cuMemsetD32Async", to, value, 4, count, stream);
}

CUresult cuMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  ApiScope scope("cuMemGetInfo");
  capture::MemoryInfo(free_bytes, total_bytes);
  return CUDA_SUCCESS;
}

}  // extern "C"
