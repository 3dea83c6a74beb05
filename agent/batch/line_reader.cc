#include "agent/batch/line_reader.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::agent {

LineReader::LineReader(int fd, size_t limit) : fd_(fd), limit_(limit), stop_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void LineReader::Stop() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stop_.get(), &one, sizeof one);
}

absl::StatusOr<bool> LineReader::Fill() {
  std::array<pollfd, 2> entries{{{fd_, POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
  while (poll(entries.data(), entries.size(), -1) < 0) {
    if (errno != EINTR) return absl::ErrnoToStatus(errno, "could not wait for the input");
  }
  if (entries[1].revents != 0) {
    buffer_.clear();
    return false;
  }
  std::array<char, 65536> piece;
  const ssize_t got = read(fd_, piece.data(), piece.size());
  if (got < 0 && errno == EINTR) return true;
  if (got < 0) return absl::ErrnoToStatus(errno, "could not read the input");
  buffer_.append(piece.data(), static_cast<size_t>(got));
  return got > 0;
}

absl::StatusOr<std::optional<std::string>> LineReader::Next() {
  for (;;) {
    const size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos || (ended_ && !buffer_.empty())) {
      const size_t length = end == std::string::npos ? buffer_.size() : end;
      std::string line = buffer_.substr(0, length);
      buffer_.erase(0, std::min(length + 1, buffer_.size()));
      searched_ = 0;
      ++line_;
      if (std::exchange(passing_over_, false) || line.size() > limit_)
        return absl::OutOfRangeError(absl::StrCat("the line is longer than ", limit_, " bytes."));
      return line;
    }
    if (ended_) return std::optional<std::string>();
    searched_ = buffer_.size();
    if (buffer_.size() > limit_) {
      passing_over_ = true;
      buffer_.assign(1, ' ');
      searched_ = 0;
    }
    ASSIGN_OR_RETURN(const bool more, Fill());
    ended_ = !more;
  }
}

}  // namespace sassay::agent
