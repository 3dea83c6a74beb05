// What no candidate's host code may do: CUDA functions that are not recorded (the generated stubs call
// SassayRefuseFunction), and leaving the process. And what it had better not do.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iterator>
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

// Once for each `what` (a literal), where the candidate is among the callers. No heap: anybody may ask for the time.
void SassayNoteReading(const char* function, const char* what) {
  static std::atomic<const char*> noted[4] = {};
  Session& session = Session::Get();
  const auto known = std::find(std::begin(noted), std::end(noted), what);
  if (known != std::end(noted) || !session.InCandidate()) return;
  char message[200];
  const int size = std::snprintf(message, sizeof message,
                                 "host code reads %s (%s); if what run() launches depends on it, each capture is "
                                 "another candidate",
                                 what, function);
  sassay::capture::SignalSafeWriter finding;
  finding.Bytes(2, message, static_cast<size_t>(size));
  finding.Varint(4, 1);
  if (!session.EmitFromHandler(sassay::capture::kFinding, finding)) return;
  const auto place = std::find(std::begin(noted), std::end(noted), nullptr);
  if (place != std::end(noted)) *place = what;
}

void SassayRefuseExit(const char* function, int status) { RefuseExit(function, std::to_string(status)); }

}  // extern "C"
