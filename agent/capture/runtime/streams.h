// Streams and events of the recorded process. A stream is a number: 0 is the legacy default stream, 1 the one handed to
// run(), 2 and up are the candidate's own.
#ifndef SASSAY_AGENT_CAPTURE_RUNTIME_STREAMS_H_
#define SASSAY_AGENT_CAPTURE_RUNTIME_STREAMS_H_

#include <cstdint>

namespace sassay::capture {

// Opaque handles; touching what they point at faults.
void* HandedStream();
void* CreateStream();
bool DestroyStream(const void* stream);
void* CreateEvent();
bool DestroyEvent(const void* event);

// Ends the capture, naming `function`, if the handle was never given out or is destroyed.
uint64_t StreamNumber(const char* function, const void* stream);
uint64_t EventNumber(const char* function, const void* event);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_RUNTIME_STREAMS_H_
