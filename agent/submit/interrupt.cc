#include "agent/submit/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace sassay::agent {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
std::atomic<int> signal_fd{-1};
struct sigaction former[std::size(kSignals)];

void WriteOne(int fd) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(fd, &one, sizeof one);
}

void OnSignal(int) {
  const int saved = errno;
  WriteOne(signal_fd.load());
  errno = saved;
}

}  // namespace

InterruptHandler::InterruptHandler(std::function<void(int)> on_interrupt)
    : on_interrupt_(std::move(on_interrupt)),
      signals_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  signal_fd = signals_.get();
  thread_ = std::thread([this] { Run(); });
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &action, &former[i]);
}

InterruptHandler::~InterruptHandler() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &former[i], nullptr);
  WriteOne(stop_.get());
  thread_.join();
  signal_fd = -1;
}

void InterruptHandler::Run() {
  pollfd fds[] = {{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (int seen = 0;;) {
    if (poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents != 0) return;
    uint64_t count = 0;
    if (read(signals_.get(), &count, sizeof count) != sizeof count) continue;
    for (; count > 0; --count) on_interrupt_(++seen);
  }
}

}  // namespace sassay::agent
