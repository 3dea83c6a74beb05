// A simulated GPU: places for jobs, and the lease that they share it by, with the rules of
// profiler_service/pipeline/lanes/device_lease.h.
#ifndef SASSAY_TESTS_SIM_GPU_H_
#define SASSAY_TESTS_SIM_GPU_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "tests/sim/demand.h"

namespace sassay::sim {

class Gpu {
 public:
  // Where the judge holds so many workloads' states, those used last.
  static constexpr size_t kStates = 4;

  explicit Gpu(uint32_t places) : places_(places) {}

  uint32_t free_places() const { return places_ - jobs_; }
  void Seat() { ++jobs_; }
  void Leave() { --jobs_; }

  // Asks to have it; whoever gets it is in the answer of Grant.
  void Wait(size_t job, bool exclusive, Ns now) { (exclusive ? exclusive_ : shared_).push_back({job, now}); }
  // Who may go now, taken off the waiting.
  std::vector<size_t> Grant(Ns now);
  void Release(bool exclusive, Ns now);
  // All its jobs are gone, with what it held.
  void Clear(Ns now);

  bool Holds(size_t workload) const;
  void Use(size_t workload);
  const std::vector<size_t>& states() const { return states_; }

  // For how long somebody has been on it, until `now`.
  Ns Busy(Ns now) const { return busy_ + (users() > 0 ? now - since_ : 0); }

 private:
  struct Waiter {
    size_t job;
    Ns since;
  };
  uint32_t users() const { return sharing_ + (alone_ ? 1 : 0); }
  void Account(Ns now);

  uint32_t places_;
  uint32_t jobs_ = 0;
  uint32_t sharing_ = 0;
  bool alone_ = false;
  std::deque<Waiter> shared_, exclusive_;
  std::vector<size_t> states_;  // used last first
  Ns busy_ = 0;
  Ns since_ = 0;
};

}  // namespace sassay::sim

#endif  // SASSAY_TESTS_SIM_GPU_H_
