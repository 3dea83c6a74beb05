// Which launches of a call is nothing seen to depend on? Each is left out of a call of its own; where the outputs are
// right all the same, it is reported as dead: a decoy whose instructions count, or an honest zero-fill that the next
// launch overwrites. So it never convicts.
#ifndef SASSAY_PROFILER_SERVICE_EVALUATE_DEAD_LAUNCHES_H_
#define SASSAY_PROFILER_SERVICE_EVALUATE_DEAD_LAUNCHES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "profiler_service/evaluate/session.h"
#include "sassay/v1/evidence.pb.h"
#include "sassay/v1/plan.pb.h"

namespace sassay::evaluate {

// Inputs whose answer the judge knows.
struct AnsweredInputs {
  uint64_t seed = 0;
  std::string distribution;
};

struct LeftOutPlan {
  // Longer plans have as many launches left out, chosen at random.
  static constexpr size_t kMostTried = 8;
  // A call without a launch may take so many times as long as a whole one, and no less than that: it may wait for ever
  // for what the launch would have written, and whoever shares the device waits with it.
  static constexpr int kFairCalls = 4;
  static constexpr absl::Duration kShortestDeadline = absl::Milliseconds(20);

  // At least two, used in turn, the first one not those of the latest call: memory that a launch wrote in an earlier
  // call must not hold what it should have written in this one.
  std::vector<AnsweredInputs> inputs;
  // Which launches, and their order.
  uint64_t random_seed = 0;
  uint64_t poison_seed = 0;
  // Of everything; no call begins that would exceed it if it took `usual_call` with its comparison.
  absl::Duration budget;
  absl::Duration usual_call;
  std::function<absl::Time()> now;
};

// Runs in the session of a candidate that has passed, as its last act: a call without a launch may fault, hang and
// leave anything behind. Never fails: what could not be tried has its reason. Deterministic but for what it had time
// for.
sassay::v1::DroppedLaunches FindDeadLaunches(CandidateSession& session, const sassay::v1::LaunchPlan& plan,
                                             const LeftOutPlan& how);

}  // namespace sassay::evaluate

#endif  // SASSAY_PROFILER_SERVICE_EVALUATE_DEAD_LAUNCHES_H_
