#include "agent/capture/runtime/streams.h"

#include <set>
#include <string>

#include "agent/capture/runtime/session.h"

namespace sassay::capture {
namespace {

constexpr uint64_t kStreamBase = 0x5AF0'0000'0000'0000, kEventBase = 0x5AE0'0000'0000'0000;

struct Handles {
  std::set<uint64_t> streams, events;
  uint64_t next_stream = 2, next_event = 1;
};

Handles& TheHandles() {
  static Handles* handles = new Handles;
  return *handles;
}

void* Handle(uint64_t base, uint64_t number) { return reinterpret_cast<void*>(base | number << 4); }
uint64_t Number(uint64_t base, const void* handle) {
  const auto value = reinterpret_cast<uint64_t>(handle);
  return value >= base && value - base < uint64_t{1} << 32 ? (value - base) >> 4 : 0;
}

}  // namespace

void* HandedStream() { return Handle(kStreamBase, 1); }

void* CreateStream() {
  const uint64_t number = TheHandles().next_stream++;
  TheHandles().streams.insert(number);
  return Handle(kStreamBase, number);
}

bool DestroyStream(const void* stream) { return TheHandles().streams.erase(Number(kStreamBase, stream)) != 0; }

void* CreateEvent() {
  const uint64_t number = TheHandles().next_event++;
  TheHandles().events.insert(number);
  return Handle(kEventBase, number);
}

bool DestroyEvent(const void* event) { return TheHandles().events.erase(Number(kEventBase, event)) != 0; }

uint64_t StreamNumber(const char* function, const void* stream) {
  if (reinterpret_cast<uint64_t>(stream) <= 2) return 0;  // default, cudaStreamLegacy, cudaStreamPerThread
  const uint64_t number = Number(kStreamBase, stream);
  if (number == 1 || TheHandles().streams.count(number) != 0) return number;
  Session::Get().Refuse(FindingCode::kHostCudaError,
                        std::string(function) + ": the stream was not created here, or is destroyed already");
}

uint64_t EventNumber(const char* function, const void* event) {
  const uint64_t number = Number(kEventBase, event);
  if (TheHandles().events.count(number) != 0) return number;
  Session::Get().Refuse(FindingCode::kHostCudaError,
                        std::string(function) + ": the event was not created here, or is destroyed already");
}

}  // namespace sassay::capture
