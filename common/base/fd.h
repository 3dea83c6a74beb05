// Owned file descriptors, so that no early return leaks one.
#ifndef SASSAY_COMMON_BASE_FD_H_
#define SASSAY_COMMON_BASE_FD_H_

#include <utility>

namespace sassay {

// Owns one file descriptor and closes it on destruction. Move-only; thread-compatible.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  // Gives up ownership without closing.
  int release() { return std::exchange(fd_, -1); }
  // Closes what is owned and takes `fd` instead.
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

}  // namespace sassay

#endif  // SASSAY_COMMON_BASE_FD_H_
