// Ctrl-C as a call on an ordinary thread.
#ifndef SASSAY_AGENT_SUBMIT_INTERRUPT_H_
#define SASSAY_AGENT_SUBMIT_INTERRUPT_H_

#include <functional>
#include <thread>

#include "common/base/fd.h"

namespace sassay::agent {

// While it lives, SIGINT and SIGTERM call `on_interrupt(n)` with n = 1, 2, … from a thread of its own, where anything
// may be done; the signal handler itself only writes to an eventfd. The former handlers come back on destruction. One
// at a time in a process.
class InterruptHandler {
 public:
  explicit InterruptHandler(std::function<void(int)> on_interrupt);
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

 private:
  void Run();

  const std::function<void(int)> on_interrupt_;
  UniqueFd signals_;
  UniqueFd stop_;
  std::thread thread_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_INTERRUPT_H_
