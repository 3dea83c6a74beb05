// Runtime API: streams and events.
#include <cuda_runtime_api.h>

#include "agent/capture/runtime/operations.h"
#include "agent/capture/runtime/session.h"
#include "agent/capture/runtime/streams.h"

namespace capture = sassay::capture;
using capture::ApiScope;

namespace {

cudaError_t NewStream(const char* function, cudaStream_t* stream) {
  ApiScope scope(function);
  *stream = static_cast<cudaStream_t>(capture::CreateStream());
  return cudaSuccess;
}

cudaError_t NewEvent(const char* function, cudaEvent_t* event) {
  ApiScope scope(function);
  *event = static_cast<cudaEvent_t>(capture::CreateEvent());
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return NewStream("cudaStreamCreate", stream); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int) {
  return NewStream("cudaStreamCreateWithFlags", stream);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int, int) {
  return NewStream("cudaStreamCreateWithPriority", stream);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  ApiScope scope("cudaStreamDestroy");
  return static_cast<cudaError_t>(scope.Return(capture::DestroyStream(stream) ? 0 : cudaErrorInvalidResourceHandle));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ApiScope scope("cudaStreamSynchronize");
  capture::HostWaitsForStream("cudaStreamSynchronize", stream);
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int) {
  ApiScope scope("cudaStreamWaitEvent");
  capture::StreamWaitsForEvent("cudaStreamWaitEvent", stream, event);
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t, int* priority) {
  *priority = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned int* flags) {
  *flags = cudaStreamDefault;
  return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t, int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*) { return cudaSuccess; }

cudaError_t cudaDeviceSynchronize(void) {
  ApiScope scope("cudaDeviceSynchronize");
  capture::HostWaitsForDevice();
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return NewEvent("cudaEventCreate", event); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int) {
  return NewEvent("cudaEventCreateWithFlags", event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  ApiScope scope("cudaEventDestroy");
  return static_cast<cudaError_t>(scope.Return(capture::DestroyEvent(event) ? 0 : cudaErrorInvalidResourceHandle));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  ApiScope scope("cudaEventRecord");
  capture::RecordEvent("cudaEventRecord", event, stream);
  return cudaSuccess;
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int) {
  return cudaEventRecord(event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ApiScope scope("cudaEventSynchronize");
  capture::HostWaitsForEvent("cudaEventSynchronize", event);
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return cudaEventSynchronize(event); }

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  ApiScope scope("cudaEventElapsedTime");
  *milliseconds = capture::ElapsedTime("cudaEventElapsedTime");
  return cudaSuccess;
}

// What the headers of CUDA 12.8 and 12.9 call it.
cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}

}  // extern "C"
