// What repeated measurements say about the ratio of two speeds.
#ifndef SASSAY_AGENT_BENCH_COMPARISON_H_
#define SASSAY_AGENT_BENCH_COMPARISON_H_

#include <vector>

#include "absl/types/span.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {

// The mean of logarithms of ratios, with its standard error.
struct LogRatio {
  double mean = 0;
  double standard_error = 0;
  double degrees_of_freedom = 0;
};

// Of one ratio for each round. At least two rounds; ratios are above 0.
LogRatio Summarise(absl::Span<const double> ratios);

// The mean over shapes, each of the same weight, however many rounds it had; degrees of freedom by Welch and
// Satterthwaite.
LogRatio Combine(absl::Span<const LogRatio> shapes);

// A ratio with its 95 % interval (Student's, on logarithms).
struct Interval {
  double ratio = 0;
  double low = 0;
  double high = 0;
};
Interval IntervalOf(const LogRatio& ratio);

// What an interval says where differences up to `threshold` (0.02: 2 %) do not count: 1 / (1 + threshold) to 1 +
// threshold is EQUAL.
v1::BenchOutcome OutcomeOf(const Interval& interval, double threshold);

// The interval rules out that the candidate is slower by more than `threshold`.
bool IsNotSlower(double ratio_low, double threshold);

// The quantile 0.975 of Student's t. Degrees of freedom need not be whole; at least 1.
double StudentT975(double degrees_of_freedom);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BENCH_COMPARISON_H_
