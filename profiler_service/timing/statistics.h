// Medians and how far they can be trusted.
#ifndef SASSAY_PROFILER_SERVICE_TIMING_STATISTICS_H_
#define SASSAY_PROFILER_SERVICE_TIMING_STATISTICS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "sassay/v1/timing.pb.h"

namespace sassay::timing {

// Middle of the sorted values; mean of the two middle ones for an even count. NaN for none.
double Median(absl::Span<const double> values);

// A 95 % interval of the median.
struct Interval {
  double low = 0;
  double high = 0;
};

// Percentile bootstrap (Efron 1979) with `resamples` draws from a generator of `seed`: the same samples give the same
// interval. NaN for none.
Interval BootstrapMedian(absl::Span<const double> values, uint64_t seed = 1, int resamples = 2000);

// How a ratio was estimated from pairs of neighbouring blocks.
struct RatioEstimate {
  // NaN where there is no pair.
  double ratio = 0;
  // Of the ratio, relative; infinite for a single unit.
  double standard_error = 0;
  // 95 %.
  double low = 0;
  double high = 0;
  // Units that went in: quadruples A-B-B-A, or pairs where there are fewer than two quadruples.
  int units = 0;

  // Half of the interval's width, relative to the ratio. Infinite or NaN where the interval is.
  double half_width() const { return (high - low) / 2 / ratio; }
};

// The ratio of two programs measured in neighbouring blocks. `log_ratios[i]` is ln(median of one block / median of its
// neighbour), the pairs in the order in which they were measured and alternating in direction (A-B, B-A, …), so that
// the mean of pairs 2k and 2k+1 is free of linear drift: these means d are the units.
//
//   ratio = exp(T), standard error S, interval exp(T ± t(0.975, h - 1) * S)
//
// where T is the mean of d without the g = floor(n / 10) smallest and largest, h = n - 2g,
// S = s_w / ((1 - 2g/n) * sqrt(n)), and s_w the standard deviation of d with those values winsorised: Tukey and
// McLaughlin 1963 (Yuen 1974, equation 2.1). For g = 0 it is Student's interval (1908) on the logarithms of the
// ratios, that is, around their geometric mean.
RatioEstimate PairedRatio(absl::Span<const double> log_ratios);

// 97.5 % quantile of Student's t with `degrees` of freedom (>= 1). Exact to 4 digits up to 30, then Cornish-Fisher's
// expansion (Abramowitz and Stegun 26.7.5).
double StudentQuantile(int degrees);

// Fills in median and interval from samples_ns.
void Summarise(sassay::v1::TimingSeries& series);

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_STATISTICS_H_
