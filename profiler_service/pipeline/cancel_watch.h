// Turns "somebody asked to stop", which can only be polled, into dead runners.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_CANCEL_WATCH_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_CANCEL_WATCH_H_

#include <functional>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "profiler_service/wire/kill_switch.h"

namespace sassay::pipeline {

// While it lives, a thread asks `stop` every 50 ms (a runner must be dead within a second) and pulls the switch once.
// Both must outlive it.
class CancelWatch {
 public:
  CancelWatch(std::function<bool()> stop, wire::KillSwitch& kill_switch)
      : thread_([this, stop = std::move(stop), &kill_switch] {
          while (!done_.WaitForNotificationWithTimeout(absl::Milliseconds(50))) {
            if (!stop()) continue;
            kill_switch.Pull();
            return;
          }
        }) {}
  ~CancelWatch() {
    done_.Notify();
    thread_.join();
  }

 private:
  absl::Notification done_;
  std::thread thread_;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_CANCEL_WATCH_H_
