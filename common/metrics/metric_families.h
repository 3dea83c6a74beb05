// What is exported at one scrape, held against the table.
#ifndef SASSAY_COMMON_METRICS_METRIC_FAMILIES_H_
#define SASSAY_COMMON_METRICS_METRIC_FAMILIES_H_

#include <map>
#include <string>
#include <vector>

#include "common/metrics/metric.h"

namespace prometheus {
class Counter;
class Histogram;
class Registry;
struct MetricFamily;
}  // namespace prometheus

namespace sassay::metrics {

// Gathers numbers that are read when Prometheus asks, in the order in which their metrics first came.
// Thread-compatible.
class Families {
 public:
  Families();
  ~Families();

  // `labels`: a value for each of metric.labels(), in that order (CHECKed). Not for histograms.
  void Add(const Metric& metric, const std::vector<std::string>& labels, double value);
  std::vector<prometheus::MetricFamily> Take();

 private:
  std::vector<prometheus::MetricFamily> families_;
  std::map<const Metric*, size_t> places_;
};

// Counters and histograms that are fed as things happen; the registry owns them. `labels` as in Families::Add.
prometheus::Counter& AddCounter(prometheus::Registry& registry, const Metric& metric,
                                const std::vector<std::string>& labels);
prometheus::Histogram& AddHistogram(prometheus::Registry& registry, const Metric& metric,
                                    const std::vector<std::string>& labels, const std::vector<double>& buckets);

}  // namespace sassay::metrics

#endif  // SASSAY_COMMON_METRICS_METRIC_FAMILIES_H_
