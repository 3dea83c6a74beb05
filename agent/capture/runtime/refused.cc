// What no candidate's host code may do: CUDA functions that are not recorded (the generated stubs call
// SassayRefuseFunction), and leaving the process.
#include <unistd.h>

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

void SassayRefuseExit(const char* function, int status) { RefuseExit(function, std::to_string(status)); }

}  // extern "C"
