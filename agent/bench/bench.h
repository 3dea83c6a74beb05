// Measures two kernels in turn, through the service, and compares them.
#ifndef SASSAY_AGENT_BENCH_BENCH_H_
#define SASSAY_AGENT_BENCH_BENCH_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/rollout/judge.h"
#include "common/rpc/stopper.h"
#include "sassay/v1/agent.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// What is compared with what, and how often.
struct BenchPlan {
  // As people know it, and as a bundle in canonical bytes that holds plans for every workload.
  std::string candidate_name;
  std::string candidate;
  // Empty bundle: the workload's own baseline.
  std::string against_name = "baseline";
  std::string against;
  std::vector<v1::Workload> workloads;
  // At least 2.
  uint32_t rounds = 7;
  double threshold = 0.01;
  // What request ids begin with.
  std::string id;
};

// Runs the rounds: on each workload candidate and other in turn, A-B, B-A, A-B, …, one submission at a time, so that
// both meet the same conditions. A round's ratio is that of the two speed-ups over the workload's baseline, which was
// measured beside either (docs/timing_method.md); of the medians where the workload has none. Each round has processes
// of its own, and what differs from one process to the next is in the interval.
//
// A verdict that is not CORRECT ends its workload; so does one without a time. A verdict that does not count is asked
// for again, twice. `on_round` hears of each round. Failure: the service's trouble, CANCELLED by the stopper.
absl::StatusOr<v1::BenchResult> RunBench(const BenchPlan& plan, Judge& judge, Stopper& stopper,
                                         const std::function<void(absl::string_view)>& on_round);

// The result as JUnit's XML: a test case for each workload and one for the geometric mean; a failure for what is slower
// than the threshold allows, an error for what has no ratio, skipped for what is inconclusive.
std::string JUnit(const v1::BenchResult& result);

// Whether the result rules out that the candidate is slower than the threshold allows, shows that it is, or neither.
v1::BenchOutcome GuardOutcome(const v1::BenchResult& result);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BENCH_BENCH_H_
