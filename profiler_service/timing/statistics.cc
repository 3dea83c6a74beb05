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

double Mean(absl::Span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double SumOfSquares(absl::Span<const double> values) {
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

// Means of neighbouring pairs; the pairs themselves where that would leave fewer than two units.
std::vector<double> Units(absl::Span<const double> log_ratios) {
  std::vector<double> units;
  for (size_t i = 0; i + 1 < log_ratios.size(); i += 2) units.push_back((log_ratios[i] + log_ratios[i + 1]) / 2);
  if (units.size() < 2) units.assign(log_ratios.begin(), log_ratios.end());
  return units;
}

}  // namespace

double StudentQuantile(int degrees) {
  static constexpr double kTable[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
                                      2.2010,  2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860,
                                      2.0796,  2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423};
  if (degrees < 1) return std::numeric_limits<double>::infinity();
  if (degrees <= 30) return kTable[degrees - 1];
  constexpr double z = 1.959964;
  return z + (z * z * z + z) / (4.0 * degrees) +
         (5 * z * z * z * z * z + 16 * z * z * z + 3 * z) / (96.0 * degrees * degrees);
}

RatioEstimate PairedRatio(absl::Span<const double> log_ratios) {
  std::vector<double> units = Units(log_ratios);
  const int n = static_cast<int>(units.size());
  if (n == 0) return {kNothing, kNothing, kNothing, kNothing, 0};
  std::sort(units.begin(), units.end());
  const int g = n / 10, h = n - 2 * g;
  const double center = Mean(absl::MakeSpan(units).subspan(static_cast<size_t>(g), static_cast<size_t>(h)));
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  if (n == 1) return {std::exp(center), kUnknown, 0, kUnknown, 1};
  for (int i = 0; i < g; ++i) {
    units[static_cast<size_t>(i)] = units[static_cast<size_t>(g)];
    units[static_cast<size_t>(n - 1 - i)] = units[static_cast<size_t>(n - 1 - g)];
  }
  const double deviation = std::sqrt(SumOfSquares(units) / (n - 1));
  const double error = deviation / ((1.0 - 2.0 * g / n) * std::sqrt(static_cast<double>(n)));
  const double reach = StudentQuantile(h - 1) * error;
  return {std::exp(center), error, std::exp(center - reach), std::exp(center + reach), n};
}

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
