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

// Calls body(i) for every i in [0, count), on up to `threads` threads, and returns when all have ended. Iterations must
// not depend on one another.
inline void ParallelFor(int64_t count, int threads, const std::function<void(int64_t)>& body) {
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::thread> helpers;
  for (int64_t helper = 1; helper < std::min<int64_t>(threads, count); ++helper) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_PARALLEL_H_
