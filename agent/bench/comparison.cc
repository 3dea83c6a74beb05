#include "agent/bench/comparison.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sassay::agent {
namespace {

// The share of Student's t between 0 and t, by Simpson's rule: the density is smooth, and 400 steps give six digits.
double ShareUpTo(double t, double freedom) {
  constexpr int kSteps = 400;
  const double scale =
      std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) / std::sqrt(freedom * std::numbers::pi);
  const double step = t / kSteps;
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double x = step * i;
    const double weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * std::pow(1 + x * x / freedom, -(freedom + 1) / 2);
  }
  return scale * sum * step / 3;
}

}  // namespace

double StudentT975(double degrees_of_freedom) {
  const double freedom = std::max(1.0, degrees_of_freedom);
  double low = 1.9, high = 13;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (ShareUpTo(middle, freedom) < 0.475 ? low : high) = middle;
  }
  return (low + high) / 2;
}

LogRatio Summarise(absl::Span<const double> ratios) {
  const auto count = static_cast<double>(ratios.size());
  LogRatio result;
  for (const double ratio : ratios) result.mean += std::log(ratio) / count;
  double squares = 0;
  for (const double ratio : ratios) squares += std::pow(std::log(ratio) - result.mean, 2);
  result.degrees_of_freedom = count - 1;
  result.standard_error = std::sqrt(squares / (count - 1) / count);
  return result;
}

LogRatio Combine(absl::Span<const LogRatio> shapes) {
  const auto count = static_cast<double>(shapes.size());
  LogRatio result;
  double variance = 0, fourth = 0;
  for (const LogRatio& shape : shapes) {
    const double square = std::pow(shape.standard_error / count, 2);
    result.mean += shape.mean / count;
    variance += square;
    fourth += square * square / std::max(1.0, shape.degrees_of_freedom);
  }
  result.standard_error = std::sqrt(variance);
  result.degrees_of_freedom = fourth > 0 ? variance * variance / fourth : shapes.front().degrees_of_freedom;
  return result;
}

Interval IntervalOf(const LogRatio& ratio) {
  const double half = StudentT975(ratio.degrees_of_freedom) * ratio.standard_error;
  return {std::exp(ratio.mean), std::exp(ratio.mean - half), std::exp(ratio.mean + half)};
}

v1::BenchOutcome OutcomeOf(const Interval& interval, double threshold) {
  const double most = 1 + threshold, least = 1 / most;
  if (interval.high < least) return v1::BENCH_OUTCOME_SLOWER;
  if (interval.low > most) return v1::BENCH_OUTCOME_FASTER;
  return interval.low >= least && interval.high <= most ? v1::BENCH_OUTCOME_EQUAL : v1::BENCH_OUTCOME_INCONCLUSIVE;
}

bool IsNotSlower(double ratio_low, double threshold) { return ratio_low >= 1 / (1 + threshold); }

}  // namespace sassay::agent
