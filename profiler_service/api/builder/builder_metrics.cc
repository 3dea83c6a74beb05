#include "profiler_service/api/builder/builder_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <vector>

#include "common/base/status_macros.h"
#include "common/metrics/builder_metrics.h"
#include "common/metrics/metric_families.h"

namespace sassay::api {
namespace {

// From a compilation in the cache to one that is killed.
const std::vector<double> kSecondsBuckets = {0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000};
constexpr const char* kOutcomes[] = {"built", "candidate", "usage", "infrastructure", "cancelled"};
constexpr uint32_t kUsage = 2;  // exit status of mini-ptx-agent

const char* OutcomeOf(const absl::StatusOr<sassay::v1::BuildJobOutcome>& outcome) {
  if (!outcome.ok()) return absl::IsCancelled(outcome.status()) ? "cancelled" : "infrastructure";
  const sassay::v1::BuildResult& result = outcome->result();
  if (result.has_built()) return "built";
  if (result.has_verdict()) return "candidate";
  return result.failure().exit_status() == kUsage ? "usage" : "infrastructure";
}

}  // namespace

BuilderMetrics::BuilderMetrics(uint32_t places) : places_(places), registry_(std::make_shared<prometheus::Registry>()) {
  for (const char* outcome : kOutcomes) metrics::AddCounter(*registry_, metrics::kBuilds, {outcome});
  metrics::AddHistogram(*registry_, metrics::kBuildSeconds, {}, kSecondsBuckets);
  gauges_ = metrics::CollectWith([this](metrics::Families& families) {
    families.Add(metrics::kBuilderPlaces, {}, places_);
    families.Add(metrics::kBuildsRunning, {}, static_cast<double>(running_.load()));
    families.Add(metrics::kBuildsWaiting, {}, static_cast<double>(waiting_.load()));
  });
}

BuilderMetrics::~BuilderMetrics() = default;

void BuilderMetrics::Ends(const absl::StatusOr<sassay::v1::BuildJobOutcome>& outcome, absl::Duration took) {
  --running_;
  metrics::AddCounter(*registry_, metrics::kBuilds, {OutcomeOf(outcome)}).Increment();
  metrics::AddHistogram(*registry_, metrics::kBuildSeconds, {}, kSecondsBuckets).Observe(absl::ToDoubleSeconds(took));
}

void BuilderMetrics::CountRefused(absl::StatusCode code) {
  metrics::AddCounter(*registry_, metrics::kRpcsRefused, {absl::StatusCodeToString(code)}).Increment();
}

absl::StatusOr<std::string> BuilderMetrics::Serve(const std::string& address) {
  ASSIGN_OR_RETURN(endpoint_, metrics::Endpoint::Listen(address, {registry_, gauges_}));
  return endpoint_->address();
}

void BuilderMetrics::StopServing() { endpoint_.reset(); }

std::string BuilderMetrics::Text() const { return metrics::ToText({registry_, gauges_}); }

}  // namespace sassay::api
