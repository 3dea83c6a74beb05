#include "profiler_service/timing/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace sassay::timing {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

double MedianInPlace(std::vector<double>& values) {
  if (values.empty()) return kNothing;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double Quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(std::lround(position))];
}

}  // namespace

double Median(absl::Span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return MedianInPlace(copy);
}

Interval BootstrapMedian(absl::Span<const double> values, uint64_t seed, int resamples) {
  if (values.empty()) return {kNothing, kNothing};
  std::mt19937_64 generator(seed);
  std::uniform_int_distribution<size_t> pick(0, values.size() - 1);
  std::vector<double> medians, resample(values.size());
  for (int i = 0; i < resamples; ++i) {
    for (double& value : resample) value = values[pick(generator)];
    medians.push_back(MedianInPlace(resample));
  }
  std::sort(medians.begin(), medians.end());
  return {Quantile(medians, 0.025), Quantile(medians, 0.975)};
}

void Summarise(sassay::v1::TimingSeries& series) {
  const absl::Span<const double> samples(series.samples_ns().data(), static_cast<size_t>(series.samples_ns_size()));
  const Interval interval = BootstrapMedian(samples);
  series.set_median_ns(Median(samples));
  series.set_median_low_ns(interval.low);
  series.set_median_high_ns(interval.high);
}

}  // namespace sassay::timing
