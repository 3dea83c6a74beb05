// Runtime API: memory.
#include "agent/capture/runtime/memory.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

#include "agent/capture/runtime/host_memory.h"
#include "agent/capture/runtime/kernels.h"
#include "agent/capture/runtime/operations.h"
#include "agent/capture/runtime/queries.h"
#include "agent/capture/runtime/streams.h"

namespace capture = sassay::capture;
using capture::ApiScope;

namespace {

cudaError_t Return(ApiScope& scope, int code, std::string_view detail = "") {
  return static_cast<cudaError_t>(scope.Return(code, detail));
}

uint64_t Number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

constexpr size_t kMostHostBytes = size_t{1} << 40;

cudaError_t AllocateOnStream(const char* function, void** pointer, size_t size, cudaStream_t stream) {
  ApiScope scope(function);
  const int code =
      capture::Allocate(reinterpret_cast<uint64_t*>(pointer), size, capture::StreamNumber(function, stream));
  return Return(scope, code, std::to_string(size) + " bytes");
}

cudaError_t AllocateHost(const char* function, void** pointer, size_t size) {
  ApiScope scope(function);
  if (pointer == nullptr) return Return(scope, capture::kInvalidValue);
  *pointer = size > kMostHostBytes ? nullptr : std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  if (*pointer == nullptr) return Return(scope, size == 0 ? 0 : capture::kOutOfMemory, std::to_string(size) + " bytes");
  std::memset(*pointer, 0, size);
  capture::AddHostMemory(*pointer, size, function);
  return cudaSuccess;
}

cudaError_t CopyOnStream(const char* function, void* to, const void* from, size_t bytes, cudaStream_t stream) {
  ApiScope scope(function);
  return Return(scope, capture::Copy(function, to, from, bytes, capture::StreamNumber(function, stream)));
}

cudaError_t CopyRows(const char* function, void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                     size_t rows, cudaStream_t stream) {
  ApiScope scope(function);
  return Return(scope, capture::Copy2D(function, to, to_pitch, from, from_pitch, width, rows,
                                       capture::StreamNumber(function, stream)));
}

cudaError_t FillRows(const char* function, void* to, size_t pitch, int value, size_t width, size_t rows,
                     cudaStream_t stream) {
  ApiScope scope(function);
  return Return(scope, capture::Fill(function, Number(to), static_cast<uint8_t>(value), 1, width, rows, pitch,
                                     capture::StreamNumber(function, stream)));
}

// The address of `offset` bytes into a symbol, with the range checked.
void* SymbolRange(const char* function, const void* symbol, size_t offset, size_t bytes) {
  const uint64_t address = capture::AddressSpace::Get().SymbolAddress(capture::RequireSymbol(function, symbol));
  capture::RequireRange(function, "range in the symbol", address + offset, bytes);
  return reinterpret_cast<void*>(address + offset);
}

cudaError_t CopyToSymbol(const char* function, const void* symbol, const void* from, size_t bytes, size_t offset,
                         cudaStream_t stream) {
  ApiScope scope(function);
  return Return(scope, capture::Copy(function, SymbolRange(function, symbol, offset, bytes), from, bytes,
                                     capture::StreamNumber(function, stream)));
}

cudaError_t CopyFromSymbol(const char* function, void* to, const void* symbol, size_t bytes, size_t offset,
                           cudaStream_t stream) {
  ApiScope scope(function);
  return Return(scope, capture::Copy(function, to, SymbolRange(function, symbol, offset, bytes), bytes,
                                     capture::StreamNumber(function, stream)));
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t size) { return AllocateOnStream("cudaMalloc", pointer, size, nullptr); }

cudaError_t cudaMallocAsync(void** pointer, size_t size, cudaStream_t stream) {
  return AllocateOnStream("cudaMallocAsync", pointer, size, stream);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t size, cudaMemPool_t, cudaStream_t stream) {
  return AllocateOnStream("cudaMallocFromPoolAsync", pointer, size, stream);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pitch == nullptr || height >> 32 != 0 || width >> 40 != 0) return cudaErrorInvalidValue;
  *pitch = (width + 511) / 512 * 512;
  return AllocateOnStream("cudaMallocPitch", pointer, *pitch * height, nullptr);
}

cudaError_t cudaFree(void* pointer) {
  ApiScope scope("cudaFree");
  return Return(scope, capture::Free("cudaFree", Number(pointer), 0));
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  ApiScope scope("cudaFreeAsync");
  return Return(scope, capture::Free("cudaFreeAsync", Number(pointer), capture::StreamNumber("cudaFreeAsync", stream)));
}

cudaError_t cudaMallocHost(void** pointer, size_t size) { return AllocateHost("cudaMallocHost", pointer, size); }
cudaError_t cudaHostAlloc(void** pointer, size_t size, unsigned int) {
  return AllocateHost("cudaHostAlloc", pointer, size);
}

cudaError_t cudaFreeHost(void* pointer) {
  ApiScope scope("cudaFreeHost");
  capture::RemoveHostMemory(pointer);
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* pointer, size_t size, unsigned int) {
  ApiScope scope("cudaHostRegister");
  capture::AddHostMemory(pointer, size, "cudaHostRegister");
  return cudaSuccess;
}
cudaError_t cudaHostUnregister(void* pointer) {
  ApiScope scope("cudaHostUnregister");
  capture::RemoveHostMemory(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return CopyOnStream("cudaMemcpy", to, from, bytes, nullptr);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  return CopyOnStream("cudaMemcpyAsync", to, from, bytes, stream);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind) {
  return CopyRows("cudaMemcpy2D", to, to_pitch, from, from_pitch, width, height, nullptr);
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind, cudaStream_t stream) {
  return CopyRows("cudaMemcpy2DAsync", to, to_pitch, from, from_pitch, width, height, stream);
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return FillRows("cudaMemset", to, 0, value, bytes, 1, nullptr);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return FillRows("cudaMemsetAsync", to, 0, value, bytes, 1, stream);
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return FillRows("cudaMemset2D", to, pitch, value, width, height, nullptr);
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return FillRows("cudaMemset2DAsync", to, pitch, value, width, height, stream);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind) {
  return CopyToSymbol("cudaMemcpyToSymbol", symbol, from, bytes, offset, nullptr);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind,
                                    cudaStream_t stream) {
  return CopyToSymbol("cudaMemcpyToSymbolAsync", symbol, from, bytes, offset, stream);
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind) {
  return CopyFromSymbol("cudaMemcpyFromSymbol", to, symbol, bytes, offset, nullptr);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind,
                                      cudaStream_t stream) {
  return CopyFromSymbol("cudaMemcpyFromSymbolAsync", to, symbol, bytes, offset, stream);
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  ApiScope scope("cudaGetSymbolAddress");
  if (address == nullptr) return Return(scope, capture::kInvalidValue);
  *address = SymbolRange("cudaGetSymbolAddress", symbol, 0, 0);
  return cudaSuccess;
}

cudaError_t cudaGetSymbolSize(size_t* size, const void* symbol) {
  ApiScope scope("cudaGetSymbolSize");
  if (size == nullptr) return Return(scope, capture::kInvalidValue);
  *size = capture::RequireSymbol("cudaGetSymbolSize", symbol).size_bytes;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  ApiScope scope("cudaMemGetInfo");
  capture::MemoryInfo(free_bytes, total_bytes);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  ApiScope scope("cudaPointerGetAttributes");
  if (attributes == nullptr) return Return(scope, capture::kInvalidValue);
  const bool device = capture::IsDevicePointer(pointer);
  std::memset(attributes, 0, sizeof *attributes);
  attributes->type = device ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->device = device ? 0 : -1;
  attributes->devicePointer = device ? const_cast<void*>(pointer) : nullptr;
  return cudaSuccess;
}

}  // extern "C"
