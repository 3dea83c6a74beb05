#include "common/base/fd.h"

#include <unistd.h>

namespace sassay {

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

}  // namespace sassay
