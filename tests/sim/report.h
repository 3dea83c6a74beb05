// What a simulation has seen, and what is said of it.
#ifndef SASSAY_TESTS_SIM_REPORT_H_
#define SASSAY_TESTS_SIM_REPORT_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "profiler_service/scheduling/account.h"
#include "tests/sim/demand.h"

namespace sassay::sim {

// Time is cut in pieces of this length for what is summed over time.
inline constexpr Ns kPiece = 10 * kSecond;

// Of one tenant in one pool, piece by piece.
struct Course {
  std::string tenant;
  uint32_t weight = 1;
  size_t pool = 0;
  std::vector<double> used;  // GPU seconds
  std::vector<bool> waited;  // something waited all the time
  uint64_t verdicts = 0;
};

// Of one pool, piece by piece.
struct PoolCourse {
  std::vector<double> busy;       // GPU seconds with anybody on the GPU
  std::vector<double> available;  // GPU seconds of living GPUs
  std::vector<bool> loaded;       // something waited all the time
};

// Least part of its share that any tenant had, over any `window` in which it had work waiting all the time. The share
// is by weight, of what all tenants of the pool had that had work waiting.
struct LeastShare {
  double ratio = 1e9;
  std::string tenant;
  Ns from = 0;
  uint64_t windows = 0;  // that were looked at
};
LeastShare FindLeastShare(const std::vector<Course>& courses, Ns window);

// Part of the living GPUs' time in which somebody was on them, while work waited, after `from`.
double BusyShare(const std::vector<PoolCourse>& pools, Ns from);

struct Report {
  std::vector<Course> courses;
  std::vector<PoolCourse> pools;
  uint64_t submitted = 0;
  uint64_t verdicts = 0;
  uint64_t given_up = 0;  // ended after max_losses
  uint64_t twice = 0;     // submissions that ended more than once: must be 0
  uint64_t never = 0;     // accepted, and without a verdict when everything has been served
  uint64_t most_waiting = 0;
  uint64_t dispatched = 0;
  uint64_t affine = 0;      // to a node that held their state
  uint64_t nodes_lost = 0;  // of themselves
  uint64_t nodes_poisoned = 0;
  size_t most_nodes_of_one = 0;  // different nodes on which one submission was lost
  size_t most_losses = 0;        // of one submission
  // Milliseconds from "a place is free and something waits for it" to its job.
  std::vector<float> dispatch_ms;
  // Microseconds of CPU time for one decision.
  std::vector<float> decision_us;
  // Seconds from accepted to the first attempt, by class.
  std::array<std::vector<float>, scheduling::kPriorities> waited_s;
  std::array<float, scheduling::kPriorities> longest_wait_s{};
  // … of tenants that use less than their share.
  std::vector<float> people_waited_s;
  double wall_seconds = 0;
};

// q in 0…1; 0 of nothing. Reorders `values`.
float Percentile(std::vector<float>& values, double q);

void Print(Report& report, Ns warm_up, Ns window);

}  // namespace sassay::sim

#endif  // SASSAY_TESTS_SIM_REPORT_H_
