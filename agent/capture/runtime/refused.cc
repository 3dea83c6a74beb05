// What no candidate's host code may do: CUDA functions that are not recorded (the generated stubs call
// SassayRefuseFunction), and leaving the process. And what it had better not do.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

#include "agent/capture/runtime/session.h"

using sassay::capture::FindingCode;
using sassay::capture::Session;

namespace {

[[noreturn]] void RefuseExit(const char* function, const std::string& argument) {
  Session& session = Session::Get();
  if (session.call() == 0) _exit(4);  // ours: nothing of the candidate runs yet
  session.Refuse(FindingCode::kHostExit, std::string("host code called ") + function + "(" + argument +
                                             "): run() must return, and report errors by returning");
}

}  // namespace

extern "C" {

int SassayRefuseFunction(const char* function) {
  sassay::capture::ApiScope scope(function);
  if (Session::Get().call() == 0) return scope.Return(801);
  Session::Get().Refuse(FindingCode::kUnsupportedApi,
                        std::string("unsupported: ") + function + " cannot be recorded into a launch plan");
}

// Once for each of the five kinds, where the candidate is among the callers. No heap: anybody may ask for the time.
void SassayNoteReading(const char* function, const char* what) {
  static std::atomic<const char*> noted[8] = {};
  Session& session = Session::Get();
  if (!session.InCandidate()) return;
  for (auto& known : noted) {
    const char* none = nullptr;
    if (known.compare_exchange_strong(none, what)) break;
    if (none == what) return;
  }
  sassay::capture::SignalSafeWriter finding;
  char message[200];
  const int size = std::snprintf(message, sizeof message,
                                 "host code reads %s (%s); if what run() launches depends on it, each capture is "
                                 "another candidate",
                                 what, function);
  finding.Bytes(2, message, static_cast<size_t>(size));
  finding.Varint(4, 1);
  session.EmitFromHandler(sassay::capture::kFinding, finding);
}

void SassayRefuseExit(const char* function, int status) { RefuseExit(function, std::to_string(status)); }

}  // extern "C"
