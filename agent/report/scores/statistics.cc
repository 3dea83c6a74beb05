#include "agent/report/scores/statistics.h"

#include <algorithm>
#include <cmath>

namespace sassay::agent {

Interval WilsonInterval(uint32_t successes, uint32_t trials) {
  if (trials == 0) return {};
  constexpr double kZ = 1.959963984540054;
  const double n = trials, rate = successes / n;
  const double centre = rate + kZ * kZ / (2 * n);
  const double half = kZ * std::sqrt(rate * (1 - rate) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  return {successes == 0 ? 0 : std::max(0.0, (centre - half) / scale),
          successes == trials ? 1 : std::min(1.0, (centre + half) / scale)};
}

double Quantile(const std::vector<double>& sorted, double q) {
  if (sorted.empty()) return 0;
  const double at = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

v1::Spread SpreadOf(std::vector<double> sample) {
  v1::Spread spread;
  if (sample.empty()) return spread;
  std::sort(sample.begin(), sample.end());
  spread.set_count(sample.size());
  spread.set_minimum(sample.front());
  spread.set_low_quartile(Quantile(sample, 0.25));
  spread.set_median(Quantile(sample, 0.5));
  spread.set_high_quartile(Quantile(sample, 0.75));
  spread.set_maximum(sample.back());
  return spread;
}

}  // namespace sassay::agent
