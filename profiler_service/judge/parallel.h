// A loop over threads for work that is much larger than starting them.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_PARALLEL_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace sassay::judge {

// How much may be spent on a computation, and until when: once `stop` (may be null) is set, what is computed is given
// up and its result worth nothing. An int is a number of threads.
struct Effort {
  Effort(int thread_count, const std::atomic<bool>* stop_flag = nullptr)  // NOLINT: a number of threads is an effort
      : threads(thread_count), stop(stop_flag) {}
  bool stopped() const { return stop != nullptr && *stop; }

  int threads;
  const std::atomic<bool>* stop;
};

// Calls body(i) for every i in [0, count), on up to as many threads as `effort` says, and returns when all have ended,
// or soon after it was stopped. Iterations must not depend on one another.
inline void ParallelFor(int64_t count, const Effort& effort, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t i = next++; i < count && !effort.stopped(); i = next++) body(i);
  };
  std::vector<std::thread> helpers;
  for (int64_t helper = 1; helper < std::min<int64_t>(effort.threads, count); ++helper) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_PARALLEL_H_
