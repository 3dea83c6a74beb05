// Notices that nobody reads any more what a program writes, also while it has nothing to write.
#ifndef SASSAY_AGENT_BATCH_HANG_UP_WATCH_H_
#define SASSAY_AGENT_BATCH_HANG_UP_WATCH_H_

#include <functional>
#include <thread>

#include "common/base/fd.h"

namespace sassay::agent {

// While it lives, `on_hang_up` is called once, from a thread of its own, when the other end of the pipe or socket `fd`
// (which stays the caller's) is gone. Of a file or a terminal nothing is ever said.
class HangUpWatch {
 public:
  HangUpWatch(int fd, std::function<void()> on_hang_up);
  ~HangUpWatch();
  HangUpWatch(const HangUpWatch&) = delete;
  HangUpWatch& operator=(const HangUpWatch&) = delete;

 private:
  const UniqueFd stop_;
  std::thread thread_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BATCH_HANG_UP_WATCH_H_
