// The candidate's process. Started by the supervisor only.
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

#include "agent/capture/host/child.h"

extern "C" {

// Of the runtime.
[[noreturn]] void SassayRefuseExit(const char* function, int status);
void SassayNoteReading(const char* function, const char* what);

// A program's own symbols come first for whatever it loads, so these hide libc's from the candidate.
#pragma GCC visibility push(default)
void exit(int status) noexcept { SassayRefuseExit("exit", status); }
void quick_exit(int status) noexcept { SassayRefuseExit("quick_exit", status); }
void _Exit(int status) noexcept { SassayRefuseExit("_Exit", status); }

// What is another number each time. Logging is a good reason to ask, so the answers are true, and the plan is warned.
int clock_gettime(clockid_t clock, timespec* now) noexcept {
  SassayNoteReading("clock_gettime", "the clock");
  return static_cast<int>(syscall(SYS_clock_gettime, clock, now));
}

int gettimeofday(timeval* now, void*) noexcept {
  SassayNoteReading("gettimeofday", "the clock");
  timespec precise{};
  if (syscall(SYS_clock_gettime, CLOCK_REALTIME, &precise) != 0) return -1;
  *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* seconds) noexcept {
  SassayNoteReading("time", "the clock");
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  if (seconds != nullptr) *seconds = now.tv_sec;
  return now.tv_sec;
}

pid_t getpid() noexcept {
  SassayNoteReading("getpid", "its process id");
  return static_cast<pid_t>(syscall(SYS_getpid));
}

ssize_t getrandom(void* bytes, size_t size, unsigned flags) {
  SassayNoteReading("getrandom", "random numbers");
  return syscall(SYS_getrandom, bytes, size, flags);
}

#pragma GCC visibility pop

}  // extern "C"

int main() { SassayCaptureChildMain(); }
