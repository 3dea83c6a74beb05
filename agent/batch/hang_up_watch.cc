#include "agent/batch/hang_up_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <utility>

namespace sassay::agent {

HangUpWatch::HangUpWatch(int fd, std::function<void()> on_hang_up)
    : stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([fd, stop = stop_.get(), on_hang_up = std::move(on_hang_up)] {
        // Errors and hang-ups are told without being asked for.
        std::array<pollfd, 2> entries{{{fd, 0, 0}, {stop, POLLIN, 0}}};
        while (poll(entries.data(), entries.size(), -1) < 0) {
        }
        if (entries[1].revents == 0 && (entries[0].revents & (POLLERR | POLLHUP)) != 0) on_hang_up();
      }) {}

HangUpWatch::~HangUpWatch() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
  thread_.join();
}

}  // namespace sassay::agent
