#include "common/metrics/metric_families.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <utility>

#include "absl/base/internal/raw_logging.h"

namespace sassay::metrics {
namespace {

std::map<std::string, std::string> Labelled(const Metric& metric, const std::vector<std::string>& values) {
  const auto names = metric.labels();
  ABSL_RAW_CHECK(names.size() == values.size(), "a value for each label of the metric's row");
  std::map<std::string, std::string> labels;
  for (size_t i = 0; i < names.size(); ++i) labels.emplace(std::string(names[i]), values[i]);
  return labels;
}

prometheus::MetricFamily Begin(const Metric& metric) {
  prometheus::MetricFamily family;
  family.name = std::string(metric.name);
  family.help = std::string(metric.help);
  family.type = metric.type == Type::kCounter ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge;
  return family;
}

}  // namespace

Families::Families() = default;
Families::~Families() = default;

void Families::Add(const Metric& metric, const std::vector<std::string>& labels, double value) {
  ABSL_RAW_CHECK(metric.type != Type::kHistogram, "a histogram is not one number");
  const auto [place, first] = places_.emplace(&metric, families_.size());
  if (first) families_.push_back(Begin(metric));
  prometheus::ClientMetric& added = families_[place->second].metric.emplace_back();
  for (const auto& [name, text] : Labelled(metric, labels)) added.label.push_back({name, text});
  (metric.type == Type::kCounter ? added.counter.value : added.gauge.value) = value;
}

std::vector<prometheus::MetricFamily> Families::Take() {
  places_.clear();
  return std::exchange(families_, {});
}

prometheus::Counter& AddCounter(prometheus::Registry& registry, const Metric& metric,
                                const std::vector<std::string>& labels) {
  return prometheus::BuildCounter()
      .Name(std::string(metric.name))
      .Help(std::string(metric.help))
      .Register(registry)
      .Add(Labelled(metric, labels));
}

prometheus::Histogram& AddHistogram(prometheus::Registry& registry, const Metric& metric,
                                    const std::vector<std::string>& labels, const std::vector<double>& buckets) {
  return prometheus::BuildHistogram()
      .Name(std::string(metric.name))
      .Help(std::string(metric.help))
      .Register(registry)
      .Add(Labelled(metric, labels), buckets);
}

}  // namespace sassay::metrics
