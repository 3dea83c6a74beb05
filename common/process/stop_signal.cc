#include "common/process/stop_signal.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace sassay {
namespace {

std::atomic<int> stop_event = -1;
std::atomic<int> signals = 0;
std::atomic<bool> second_exits = false;
std::atomic<int> status_of_exit = 1;

void OnStopSignal(int) {
  const int saved = errno;
  if (signals.fetch_add(1) > 0 && second_exits) _exit(status_of_exit);
  const uint64_t one = 1;
  if (write(stop_event, &one, sizeof(one)) < 0) _exit(status_of_exit);
  errno = saved;
}

}  // namespace

void CatchStopSignals(SecondStopSignal second, int exit_status) {
  second_exits = second == SecondStopSignal::kExitsAtOnce;
  status_of_exit = exit_status;
  stop_event = eventfd(0, EFD_CLOEXEC);
  struct sigaction action = {};
  action.sa_handler = OnStopSignal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

void WaitForStopSignal() {
  uint64_t count;
  while (read(stop_event, &count, sizeof(count)) < 0 && errno == EINTR) continue;
}

bool StopSignalCame() { return signals > 0; }

}  // namespace sassay
