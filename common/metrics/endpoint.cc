#include "common/metrics/endpoint.h"

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/text_serializer.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/metrics/process_metrics.h"

namespace sassay::metrics {
namespace {

class Asking : public prometheus::Collectable {
 public:
  explicit Asking(std::function<void(Families&)> add) : add_(std::move(add)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    Families families;
    add_(families);
    AddProcessMetrics(families);
    return families.Take();
  }

 private:
  const std::function<void(Families&)> add_;
};

}  // namespace

std::shared_ptr<prometheus::Collectable> CollectWith(std::function<void(Families&)> add) {
  return std::make_shared<Asking>(std::move(add));
}

Endpoint::Endpoint() = default;
Endpoint::~Endpoint() = default;

absl::StatusOr<std::unique_ptr<Endpoint>> Endpoint::Listen(
    const std::string& address, std::vector<std::shared_ptr<prometheus::Collectable>> collectables) {
  std::unique_ptr<Endpoint> endpoint(new Endpoint);
  endpoint->collectables_ = std::move(collectables);
  try {
    endpoint->exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("--metrics ", address, ": ", error.what(),
                                               "; the port may be taken: choose another, or '' for none"));
  }
  for (const auto& collectable : endpoint->collectables_) endpoint->exposer_->RegisterCollectable(collectable);
  endpoint->address_ =
      absl::StrCat(address.substr(0, address.rfind(':')), ":", endpoint->exposer_->GetListeningPorts().front());
  return endpoint;
}

std::string ToText(const std::vector<std::shared_ptr<prometheus::Collectable>>& collectables) {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& collectable : collectables) {
    for (prometheus::MetricFamily& family : collectable->Collect()) families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace sassay::metrics
