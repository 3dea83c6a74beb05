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

// Fills in median and interval from samples_ns.
void Summarise(sassay::v1::TimingSeries& series);

}  // namespace sassay::timing

#endif  // SASSAY_PROFILER_SERVICE_TIMING_STATISTICS_H_
