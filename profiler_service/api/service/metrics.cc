#include "profiler_service/api/service/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <exception>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_json.h"

namespace sassay::api {
namespace {

// From a cached answer to the longest run.
const prometheus::Histogram::BucketBoundaries kSecondsBuckets = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1,
                                                                 3,     10,    30,   100,  300, 1000};

}  // namespace

class Metrics::Sources : public prometheus::Collectable {
 public:
  Sources(std::vector<MetricSource> sources, prometheus::Counter& errors)
      : sources_(std::move(sources)), errors_(errors) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families;
    for (const MetricSource& source : sources_) {
      if (families.empty() || families.back().name != source.name) families.push_back(FamilyOf(source));
      families.back().metric.push_back(Read(source));
    }
    return families;
  }

 private:
  static prometheus::MetricFamily FamilyOf(const MetricSource& source) {
    prometheus::MetricFamily family;
    family.name = source.name;
    family.help = source.help;
    family.type = source.counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
    return family;
  }

  prometheus::ClientMetric Read(const MetricSource& source) const {
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : source.labels) metric.label.push_back({name, value});
    const absl::StatusOr<double> value = source.read();
    if (!value.ok()) errors_.Increment();
    (source.counts ? metric.counter.value : metric.gauge.value) =
        value.value_or(std::numeric_limits<double>::quiet_NaN());
    return metric;
  }

  const std::vector<MetricSource> sources_;
  prometheus::Counter& errors_;
};

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {
  accepted_ = &prometheus::BuildCounter()
                   .Name("sassay_submissions_accepted_total")
                   .Help("Submissions that became durable")
                   .Register(*registry_)
                   .Add({});
  retried_ = &prometheus::BuildCounter()
                  .Name("sassay_submissions_retried_total")
                  .Help("Attempts that did not count and were made again")
                  .Register(*registry_)
                  .Add({});
  store_errors_ = &prometheus::BuildCounter()
                       .Name("sassay_store_errors_total")
                       .Help("Times that the database could not be read or written")
                       .Register(*registry_)
                       .Add({});
  refused_ = &prometheus::BuildCounter()
                  .Name("sassay_rpcs_refused_total")
                  .Help("Calls that did not end with OK, by status")
                  .Register(*registry_);
  auto& finished = prometheus::BuildCounter()
                       .Name("sassay_submissions_finished_total")
                       .Help("Verdicts by status")
                       .Register(*registry_);
  for (int status = sassay::v1::VERDICT_STATUS_CORRECT; status <= sassay::v1::VerdictStatus_MAX; ++status) {
    finished_[status] = &finished.Add({{"status", EnumName(static_cast<sassay::v1::VerdictStatus>(status))}});
  }
  auto& seconds = prometheus::BuildHistogram()
                      .Name("sassay_stage_seconds")
                      .Help("Wall time of a stage that ran, in attempts that did not count, too")
                      .Register(*registry_);
  for (int stage = sassay::v1::STAGE_ADMISSION; stage <= sassay::v1::Stage_MAX; ++stage) {
    stage_seconds_[stage] = &seconds.Add({{"stage", EnumName(static_cast<sassay::v1::Stage>(stage))}}, kSecondsBuckets);
  }
}

Metrics::~Metrics() = default;

queue::QueueHooks Metrics::Hooks() {
  queue::QueueHooks hooks;
  hooks.accepted = [this] { accepted_->Increment(); };
  hooks.retried = [this] { retried_->Increment(); };
  hooks.finished = [this](const sassay::v1::Verdict& verdict) {
    if (const auto counter = finished_.find(verdict.status()); counter != finished_.end()) counter->second->Increment();
  };
  hooks.stage_finished = [this](const sassay::v1::StageReport& report) { Observe(report); };
  hooks.store_failed = [this] { store_errors_->Increment(); };
  return hooks;
}

void Metrics::CountRefused(absl::StatusCode code) {
  refused_->Add({{"code", absl::StatusCodeToString(code)}}).Increment();
}

void Metrics::Observe(const sassay::v1::StageReport& report) {
  const bool ran =
      report.outcome() == sassay::v1::StageReport::PASSED || report.outcome() == sassay::v1::StageReport::FAILED;
  const auto histogram = stage_seconds_.find(report.stage());
  if (ran && histogram != stage_seconds_.end())
    histogram->second->Observe(static_cast<double>(report.wall_ns()) * 1e-9);
}

absl::StatusOr<std::string> Metrics::Serve(const std::string& address, std::vector<MetricSource> sources) {
  sources_ = std::make_shared<Sources>(std::move(sources), *store_errors_);
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
  } catch (const std::exception& error) {
    return absl::UnavailableError(absl::StrCat("--metrics ", address, ": ", error.what(),
                                               "; the port may be taken: choose another, or '' for none"));
  }
  exposer_->RegisterCollectable(registry_);
  exposer_->RegisterCollectable(sources_);
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", exposer_->GetListeningPorts().front());
}

void Metrics::StopServing() { exposer_.reset(); }

std::string Metrics::Text() const {
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  if (sources_ != nullptr) {
    for (prometheus::MetricFamily& family : sources_->Collect()) families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace sassay::api
