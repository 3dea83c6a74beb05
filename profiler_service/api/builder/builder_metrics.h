// What Prometheus sees of a builder: common/metrics/builder_metrics.h filled in.
#ifndef SASSAY_PROFILER_SERVICE_API_BUILDER_BUILDER_METRICS_H_
#define SASSAY_PROFILER_SERVICE_API_BUILDER_BUILDER_METRICS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/metrics/endpoint.h"
#include "sassay/v1/builder.pb.h"

namespace prometheus {
class Collectable;
class Registry;
}  // namespace prometheus

namespace sassay::api {

// Thread-safe.
class BuilderMetrics {
 public:
  explicit BuilderMetrics(uint32_t places);
  ~BuilderMetrics();

  void Waits(int change) { waiting_ += change; }
  void Begins() { ++running_; }
  // A build that began has ended, after `took`.
  void Ends(const absl::StatusOr<sassay::v1::BuildJobOutcome>& outcome, absl::Duration took);
  void CountRefused(absl::StatusCode code);

  // UNAVAILABLE if the address cannot be had. Returns "HOST:PORT" with the port that was taken.
  absl::StatusOr<std::string> Serve(const std::string& address);
  void StopServing();
  std::string Text() const;

 private:
  const uint32_t places_;
  std::atomic<int64_t> waiting_ = 0, running_ = 0;
  std::shared_ptr<prometheus::Registry> registry_;
  std::shared_ptr<prometheus::Collectable> gauges_;
  std::unique_ptr<metrics::Endpoint> endpoint_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_BUILDER_BUILDER_METRICS_H_
