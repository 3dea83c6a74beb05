#include "agent/capture/runtime/operations.h"

#include <dlfcn.h>

#include <cstring>
#include <string>

#include "agent/capture/runtime/memory.h"
#include "agent/capture/runtime/session.h"
#include "agent/capture/runtime/streams.h"

namespace sassay::capture {
namespace {

uint64_t AsNumber(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void EmitUpload(uint64_t destination, const void* source, uint64_t bytes, uint64_t stream) {
  WireWriter upload;
  upload.Fixed64(1, destination);
  upload.Bytes(2, source, bytes);
  upload.Varint(3, stream);
  Session::Get().Emit(kUpload, upload);
}

void EmitCopy(const uint64_t (&fields)[6], uint64_t stream) {
  WireWriter copy;
  copy.Fixed64(1, fields[0]);
  copy.Fixed64(2, fields[1]);
  for (int i = 2; i < 6; ++i) copy.Varint(i + 1, fields[i]);
  copy.Varint(7, stream);
  Session::Get().Emit(kCopy, copy);
}

[[noreturn]] void RefuseDeviceRead(const char* function) {
  Session::Get().Refuse(FindingCode::kHostReadsDevice,
                        std::string(function) +
                            " copies device memory to the host: host code must not depend on what kernels computed; "
                            "decide on the device instead");
}

void EmitHostWait(int scope, uint64_t id) {
  WireWriter wait;
  wait.Varint(1, static_cast<uint64_t>(scope));
  wait.Varint(2, id);
  Session::Get().Emit(kHostWait, wait);
}

// False if `rows` rows, `pitch` bytes apart, reach past the end of every address space.
bool Span(uint64_t pitch, uint64_t width, uint64_t rows, uint64_t* span) {
  return !__builtin_mul_overflow(pitch, rows - 1, span) && !__builtin_add_overflow(*span, width, span);
}

const char* AttributeName(int attribute) {
  switch (attribute) {
#define X(name, number) \
  case number:          \
    return #name;
#include "agent/capture/devices/device_attributes.inc"
#undef X
    default:
      return nullptr;
  }
}

}  // namespace

int Allocate(uint64_t* address, uint64_t size_bytes, uint64_t stream) {
  if (address == nullptr) return kInvalidValue;
  *address = 0;
  if (size_bytes == 0) return kSuccess;
  *address = AddressSpace::Get().CreateAllocation(size_bytes, stream);
  return *address == 0 ? kOutOfMemory : kSuccess;
}

int Free(const char* function, uint64_t address, uint64_t stream) {
  if (address == 0) return kSuccess;
  if (AddressSpace::Get().Free(address, stream)) return kSuccess;
  const Region* region = AddressSpace::Get().Find(address);
  const bool twice = region != nullptr && region->freed && region->address == address;
  Session::Get().Refuse(
      FindingCode::kHostCudaError,
      std::string(function) + (twice ? ": freed twice" : ": this pointer was not allocated by the candidate"));
}

int Copy(const char* function, const void* destination, const void* source, uint64_t bytes, uint64_t stream) {
  if (bytes == 0) return kSuccess;
  const bool to_device = IsDevicePointer(destination), from_device = IsDevicePointer(source);
  if (from_device && !to_device) RefuseDeviceRead(function);
  if (!to_device) {
    if (destination == nullptr || source == nullptr) return kInvalidValue;
    std::memmove(const_cast<void*>(destination), source, bytes);
    return kSuccess;
  }
  RequireRange(function, "destination", AsNumber(destination), bytes);
  if (!from_device) {
    EmitUpload(AsNumber(destination), source, bytes, stream);
    return kSuccess;
  }
  RequireRange(function, "source", AsNumber(source), bytes);
  EmitCopy({AsNumber(destination), AsNumber(source), bytes, 1, 0, 0}, stream);
  return kSuccess;
}

int Copy2D(const char* function, const void* destination, uint64_t destination_pitch, const void* source,
           uint64_t source_pitch, uint64_t width, uint64_t rows, uint64_t stream) {
  if (width == 0 || rows == 0) return kSuccess;
  if (width > destination_pitch || width > source_pitch || rows > (uint64_t{1} << 32)) return kInvalidValue;
  uint64_t destination_span = 0, source_span = 0;
  if (!Span(destination_pitch, width, rows, &destination_span) || !Span(source_pitch, width, rows, &source_span))
    return kInvalidValue;
  if (IsDevicePointer(destination) && IsDevicePointer(source)) {
    RequireRange(function, "destination", AsNumber(destination), destination_span);
    RequireRange(function, "source", AsNumber(source), source_span);
    EmitCopy({AsNumber(destination), AsNumber(source), width, rows, destination_pitch, source_pitch}, stream);
    return kSuccess;
  }
  for (uint64_t row = 0; row < rows; ++row) {
    const int code = Copy(function, static_cast<const char*>(destination) + row * destination_pitch,
                          static_cast<const char*>(source) + row * source_pitch, width, stream);
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

int Fill(const char* function, uint64_t destination, uint32_t value, uint32_t element_bytes, uint64_t width_elements,
         uint64_t rows, uint64_t pitch_bytes, uint64_t stream) {
  if (width_elements == 0 || rows == 0) return kSuccess;
  if (width_elements >> 40 != 0 || rows >> 32 != 0 || pitch_bytes >> 40 != 0) return kInvalidValue;
  uint64_t span = 0;
  if (!Span(rows > 1 ? pitch_bytes : 0, width_elements * element_bytes, rows, &span)) return kInvalidValue;
  RequireRange(function, "destination", destination, span);
  WireWriter fill;
  fill.Fixed64(1, destination);
  fill.Varint(2, value);
  fill.Varint(3, element_bytes);
  fill.Varint(4, width_elements);
  fill.Varint(5, rows);
  fill.Varint(6, rows > 1 ? pitch_bytes : 0);
  fill.Varint(7, stream);
  Session::Get().Emit(kMemset, fill);
  return kSuccess;
}

void RecordEvent(const char* function, const void* event, const void* stream) {
  WireWriter record;
  record.Varint(1, EventNumber(function, event));
  record.Varint(2, StreamNumber(function, stream));
  Session::Get().Emit(kEventRecord, record);
}

void StreamWaitsForEvent(const char* function, const void* stream, const void* event) {
  WireWriter wait;
  wait.Varint(1, StreamNumber(function, stream));
  wait.Varint(2, EventNumber(function, event));
  Session::Get().Emit(kStreamWait, wait);
}

void HostWaitsForDevice() { EmitHostWait(1, 0); }
void HostWaitsForStream(const char* function, const void* stream) { EmitHostWait(2, StreamNumber(function, stream)); }
void HostWaitsForEvent(const char* function, const void* event) { EmitHostWait(3, EventNumber(function, event)); }

float ElapsedTime(const char* function) {
  Session::Get().Object(FindingCode::kHostReadsDevice,
                        std::string(function) +
                            " measures the GPU from host code (autotuning?): what run() launches must "
                            "not depend on a measurement; choose the configuration beforehand");
  return 1.0F;
}

int DeviceAttribute(int attribute, int* value) {
  const Session& session = Session::Get();
  if (value == nullptr || !session.HasAttribute(attribute)) return kInvalidValue;
  *value = static_cast<int>(session.Attribute(attribute));
  const char* name = AttributeName(attribute);
  Session::Get().Assume(name != nullptr ? name : "cudaDevAttr" + std::to_string(attribute), *value);
  return kSuccess;
}

void* DriverFunction(const char* name) {
  if (name == nullptr) return nullptr;
  static const Dl_info self = [] {
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(&DriverFunction), &info);
    return info;
  }();
  static void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  for (const char* version : {"_v4", "_v3", "_v2", ""}) {
    void* function = dlsym(library, (std::string(name) + version).c_str());
    Dl_info found{};  // dlsym looks into our dependencies, libc among them, too
    if (function != nullptr && dladdr(function, &found) != 0 && found.dli_fbase == self.dli_fbase) return function;
  }
  return nullptr;
}

}  // namespace sassay::capture
