// Ends what one thread runs, without a parameter through every layer between who wants it and who starts the program.
#ifndef SASSAY_COMMON_PROCESS_THREAD_STOP_H_
#define SASSAY_COMMON_PROCESS_THREAD_STOP_H_

#include "common/process/subprocess.h"

namespace sassay {

// While it lives, a RunToCompletion that this thread calls kills its child as soon as `stop` says so, and returns
// CANCELLED. `stop` is asked every 50 ms. They nest; the innermost one counts, and an empty one keeps the outer ones
// from what is run once for the whole process. Threads: belongs to the one that made it.
class ThreadStop {
 public:
  explicit ThreadStop(StopAsked stop);
  ~ThreadStop();
  ThreadStop(const ThreadStop&) = delete;
  ThreadStop& operator=(const ThreadStop&) = delete;

  // Of this thread; null without any.
  static const StopAsked* Current();

 private:
  const StopAsked stop_;
  const StopAsked* const outer_;
};

}  // namespace sassay

#endif  // SASSAY_COMMON_PROCESS_THREAD_STOP_H_
