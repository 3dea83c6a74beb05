// What is submitted: turns as published, with stage times as measured, by tenants of different habits.
//
// The mix is that of 13,674 published turns as tests/gpu/turns.py has it; stage times are those of
// docs/measurements/h200.md ("Where a turn's time goes"), with the service's default device deadline of 10 s for hangs
// (a quarter of it beside others, then all of it alone). Spread: lognormal.
#ifndef SASSAY_TESTS_SIM_DEMAND_H_
#define SASSAY_TESTS_SIM_DEMAND_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "profiler_service/scheduling/account.h"

namespace sassay::sim {

// Simulated time since the beginning, in nanoseconds.
using Ns = int64_t;
inline constexpr Ns kSecond = 1'000'000'000;
inline constexpr Ns kMinute = 60 * kSecond;
inline double Seconds(Ns time) { return static_cast<double>(time) / kSecond; }

enum class Kind { kRefused, kFault, kWrong, kHang, kRight, kPoison };

// A piece of work on a GPU.
struct Stage {
  Ns takes = 0;
  bool exclusive = false;  // nobody else on the GPU meanwhile
};

// Draws turns and times. The same seed gives the same.
class Turns {
 public:
  explicit Turns(uint64_t seed) : random_(seed) {}

  Kind DrawKind();
  // What it does on a GPU, in order; `cold`: the GPU has to make the workload's state first. A poisonous one kills its
  // node in its last stage.
  std::vector<Stage> DrawStages(Kind kind, bool cold);
  Ns Spread(Ns median, double sigma);
  Ns Exponential(Ns mean);
  size_t Below(size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random_); }

 private:
  std::mt19937_64 random_;
};

// A tenant's habits. Those that are 0 it does not have.
struct Habits {
  std::string tenant;
  uint32_t weight = 1;
  scheduling::Priority priority = scheduling::Priority::kBatch;
  size_t pool = 0;
  std::string model;        // what its submissions demand
  size_t workloads = 1;     // it uses so many
  Ns begins = 0;            // nothing before
  Ns ends = INT64_MAX;      // nothing new after
  size_t backlog = 0;       // submitted at once when it begins
  size_t trajectories = 0;  // each submits, and `think` after each verdict its next turn
  Ns think = 0;
  Ns burst_every = 0;  // so many at once, again and again
  size_t burst = 0;
  Ns arrives_every = 0;  // Poisson arrivals, mean distance
  bool modest = false;   // asks for less than its share
  size_t poisonous = 0;  // so many of its first submissions kill the node that runs them
};

}  // namespace sassay::sim

#endif  // SASSAY_TESTS_SIM_DEMAND_H_
