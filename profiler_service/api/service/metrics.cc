#include "profiler_service/api/service/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <limits>
#include <utility>

#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/metrics/metric_families.h"
#include "common/metrics/service_metrics.h"

namespace sassay::api {
namespace {

// From a cached answer to the longest run.
const std::vector<double> kSecondsBuckets = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000};

double Seconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

}  // namespace

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {
  prometheus::Registry& registry = *registry_;
  accepted_ = &metrics::AddCounter(registry, metrics::kSubmissionsAccepted, {});
  reused_ = &metrics::AddCounter(registry, metrics::kSubmissionsReused, {});
  retried_ = &metrics::AddCounter(registry, metrics::kSubmissionsRetried, {});
  store_errors_ = &metrics::AddCounter(registry, metrics::kStoreErrors, {});
  for (const bool answer : {false, true}) {
    excluded_[answer] = &metrics::AddCounter(registry, metrics::kTurnsExcluded, {answer ? "yes" : "no"});
    settled_[answer] = &metrics::AddCounter(registry, metrics::kTimingsSettled, {answer ? "yes" : "no"});
  }
  for (int status = sassay::v1::VERDICT_STATUS_CORRECT; status <= sassay::v1::VerdictStatus_MAX; ++status) {
    finished_[status] = &metrics::AddCounter(registry, metrics::kSubmissionsFinished,
                                             {EnumName(static_cast<sassay::v1::VerdictStatus>(status))});
  }
  for (int number = sassay::v1::STAGE_ADMISSION; number <= sassay::v1::Stage_MAX; ++number) {
    const std::string stage = EnumName(static_cast<sassay::v1::Stage>(number));
    stages_[number] = {&metrics::AddHistogram(registry, metrics::kStageSeconds, {stage}, kSecondsBuckets),
                       &metrics::AddCounter(registry, metrics::kGpuSeconds, {stage}),
                       &metrics::AddCounter(registry, metrics::kStagesUnavailable, {stage})};
  }
}

Metrics::~Metrics() = default;

queue::QueueHooks Metrics::Hooks() {
  queue::QueueHooks hooks;
  hooks.accepted = [this] { accepted_->Increment(); };
  hooks.reused = [this] { reused_->Increment(); };
  hooks.retried = [this] { retried_->Increment(); };
  hooks.finished = [this](const sassay::v1::Verdict& verdict) {
    if (const auto counter = finished_.find(verdict.status()); counter != finished_.end()) counter->second->Increment();
  };
  hooks.stage_finished = [this](const sassay::v1::StageReport& report) { Observe(report); };
  hooks.excluded = [this](const sassay::v1::Excluded& excluded) { excluded_.at(excluded.rerun())->Increment(); };
  hooks.settled = [this](const sassay::v1::TimingSettled& settled) {
    settled_.at(settled.warning().empty())->Increment();
  };
  hooks.store_failed = [this] { store_errors_->Increment(); };
  return hooks;
}

void Metrics::CountRefused(absl::StatusCode code) {
  metrics::AddCounter(*registry_, metrics::kRpcsRefused, {absl::StatusCodeToString(code)}).Increment();
}

void Metrics::Observe(const sassay::v1::StageReport& report) {
  const auto found = stages_.find(report.stage());
  if (found == stages_.end()) return;
  const StageMetrics& stage = found->second;
  stage.device_seconds->Increment(Seconds(report.device_ns()));
  if (report.outcome() == sassay::v1::StageReport::UNAVAILABLE) stage.unavailable->Increment();
  if (report.outcome() == sassay::v1::StageReport::PASSED || report.outcome() == sassay::v1::StageReport::FAILED) {
    stage.seconds->Observe(Seconds(report.wall_ns()));
  }
}

void Metrics::Read(const std::vector<MetricSource>& sources, metrics::Families& families) const {
  for (const MetricSource& source : sources) {
    const absl::StatusOr<double> value = source.read();
    if (!value.ok()) store_errors_->Increment();
    families.Add(*source.metric, source.labels, value.value_or(std::numeric_limits<double>::quiet_NaN()));
  }
}

absl::StatusOr<std::string> Metrics::Serve(const std::string& address, std::vector<MetricSource> sources) {
  sources_ = metrics::CollectWith(
      [this, sources = std::move(sources)](metrics::Families& families) { Read(sources, families); });
  ASSIGN_OR_RETURN(endpoint_, metrics::Endpoint::Listen(address, {registry_, sources_}));
  return endpoint_->address();
}

void Metrics::StopServing() { endpoint_.reset(); }

std::string Metrics::Text() const {
  return sources_ == nullptr ? metrics::ToText({registry_}) : metrics::ToText({registry_, sources_});
}

}  // namespace sassay::api
