// What Prometheus sees of the service: common/metrics/service_metrics.h filled in.
#ifndef SASSAY_PROFILER_SERVICE_API_SERVICE_METRICS_H_
#define SASSAY_PROFILER_SERVICE_API_SERVICE_METRICS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/metrics/endpoint.h"
#include "common/metrics/metric.h"
#include "profiler_service/queue/queue.h"
#include "sassay/v1/verdict.pb.h"

namespace prometheus {
class Counter;
class Histogram;
class Registry;
}  // namespace prometheus

namespace sassay::api {

// A number that is asked for at each scrape. One that cannot be had is NaN: nothing is not known to be 0.
struct MetricSource {
  const metrics::Metric* metric;
  std::function<absl::StatusOr<double>()> read;
  std::vector<std::string> labels{};  // one for each of the metric's
};

// Counters and histograms, fed by the queue's hooks; sources, read when scraped. Labels are bounded: statuses, stages
// and modes of runners. Thread-safe. Sources must stay readable until StopServing.
class Metrics {
 public:
  Metrics();
  ~Metrics();

  // Hooks that count. Valid as long as this object.
  queue::QueueHooks Hooks();
  // Counts an rpc that ended with `code`.
  void CountRefused(absl::StatusCode code);
  // UNAVAILABLE if the address cannot be had. Returns "HOST:PORT" with the port that was taken.
  absl::StatusOr<std::string> Serve(const std::string& address, std::vector<MetricSource> sources);
  void StopServing();
  // Everything in Prometheus' text format, for tests.
  std::string Text() const;

 private:
  struct StageMetrics {
    prometheus::Histogram* seconds;
    prometheus::Counter* device_seconds;
    prometheus::Counter* unavailable;
  };
  void Observe(const sassay::v1::StageReport& report);
  void Read(const std::vector<MetricSource>& sources, metrics::Families& families) const;

  std::shared_ptr<prometheus::Registry> registry_;
  prometheus::Counter* accepted_;
  prometheus::Counter* reused_;
  prometheus::Counter* retried_;
  prometheus::Counter* store_errors_;
  std::map<bool, prometheus::Counter*> excluded_;  // whether it is run again
  std::map<bool, prometheus::Counter*> settled_;   // whether somebody watched
  std::map<int, prometheus::Counter*> finished_;
  std::map<int, StageMetrics> stages_;
  std::shared_ptr<prometheus::Collectable> sources_;
  std::unique_ptr<metrics::Endpoint> endpoint_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_SERVICE_METRICS_H_
