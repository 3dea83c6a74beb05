// What the runtime API and the driver API do alike. Each returns a CUDA error number (the two APIs share the numbers
// that are used here); none of them touches the last error.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_OPERATIONS_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_OPERATIONS_H_

#include <cstddef>
#include <cstdint>

namespace sassay::capture {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidDevice = 101, kNotFound = 500,
              kNotSupported = 801;

int Allocate(uint64_t* address, uint64_t size_bytes, uint64_t stream);
int Free(const char* function, uint64_t address, uint64_t stream);

// Any direction; told apart by the addresses. Device to host ends the capture.
int Copy(const char* function, const void* destination, const void* source, uint64_t bytes, uint64_t stream);
int Copy2D(const char* function, const void* destination, uint64_t destination_pitch, const void* source,
           uint64_t source_pitch, uint64_t width, uint64_t rows, uint64_t stream);
int Fill(const char* function, uint64_t destination, uint32_t value, uint32_t element_bytes, uint64_t width_elements,
         uint64_t rows, uint64_t pitch_bytes, uint64_t stream);

void RecordEvent(const char* function, const void* event, const void* stream);
void StreamWaitsForEvent(const char* function, const void* stream, const void* event);
void HostWaitsForDevice();
void HostWaitsForStream(const char* function, const void* stream);
void HostWaitsForEvent(const char* function, const void* event);
// Always 1 ms, and an objection: host code that measures time may choose by it.
float ElapsedTime(const char* function);

// cudaDeviceGetAttribute and cuDeviceGetAttribute: the same numbers.
int DeviceAttribute(int attribute, int* value);
// A function of the driver API by its plain name, in its newest version; nullptr if there is none.
void* DriverFunction(const char* name);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_OPERATIONS_H_
