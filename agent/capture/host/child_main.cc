// The candidate's process. Started by the supervisor only.
#include <cstdlib>

#include "agent/capture/host/child.h"

extern "C" {

// Of the runtime.
[[noreturn]] void SassayRefuseExit(const char* function, int status);

// A program's own symbols come first for whatever it loads, so these hide libc's from the candidate.
void exit(int status) noexcept { SassayRefuseExit("exit", status); }
void quick_exit(int status) noexcept { SassayRefuseExit("quick_exit", status); }
void _Exit(int status) noexcept { SassayRefuseExit("_Exit", status); }

}  // extern "C"

int main() { SassayCaptureChildMain(); }
