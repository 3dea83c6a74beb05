// The port on which a program answers Prometheus.
#ifndef SASSAY_COMMON_METRICS_ENDPOINT_H_
#define SASSAY_COMMON_METRICS_ENDPOINT_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/metrics/metric_families.h"

namespace prometheus {
class Collectable;
class Exposer;
}  // namespace prometheus

namespace sassay::metrics {

// A collectable that asks `add` at each scrape, and adds process_*. `add` must not block: what it waits for, Prometheus
// waits for.
std::shared_ptr<prometheus::Collectable> CollectWith(std::function<void(Families&)> add);

// Answers GET /metrics until destroyed. Thread-safe.
class Endpoint {
 public:
  // UNAVAILABLE if `address` ("HOST:PORT", port 0 for a free one) cannot be had.
  static absl::StatusOr<std::unique_ptr<Endpoint>> Listen(
      const std::string& address, std::vector<std::shared_ptr<prometheus::Collectable>> collectables);
  ~Endpoint();

  // "HOST:PORT" with the port that was taken.
  const std::string& address() const { return address_; }

 private:
  Endpoint();
  std::vector<std::shared_ptr<prometheus::Collectable>> collectables_;  // the exposer keeps weak references
  std::string address_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

// What GET /metrics would answer, for tests.
std::string ToText(const std::vector<std::shared_ptr<prometheus::Collectable>>& collectables);

}  // namespace sassay::metrics

#endif  // SASSAY_COMMON_METRICS_ENDPOINT_H_
