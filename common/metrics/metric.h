// What one metric is: the row of a table that programs, documents, dashboards and tests share.
//
// Why a table: a name that is written in two places will differ in one. Programs take names, help and types from here
// (metric_families.h refuses others), docs/metrics.md is made of it, and tests hold deploy/ and what programs export
// against it.
//
// Conventions: prefix sassay_, base units, counters end in _total, times in _seconds. Labels of a GPU are spelled as
// dcgm-exporter's (Hostname, gpu, UUID, device, modelName), so that joins on them work. Every label is bounded: names
// in closed lists, GPUs of one host, rules of one file; never a tenant, a submission or a process. A number that is not
// known is NaN or not there, never 0.
#ifndef SASSAY_COMMON_METRICS_METRIC_H_
#define SASSAY_COMMON_METRICS_METRIC_H_

#include <array>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sassay::metrics {

enum class Type { kCounter, kGauge, kHistogram };

// One row. `unit` is empty where the number counts things.
struct Metric {
  absl::string_view name;
  Type type = Type::kGauge;
  absl::string_view unit;
  absl::string_view help;
  std::array<absl::string_view, 8> label_names{};  // the first empty one ends the list

  absl::Span<const absl::string_view> labels() const;
};

// Rows of one program, in the order of the document. All give process_*.
absl::Span<const Metric* const> ServiceMetrics();
// Besides ServiceMetrics: where nodes are admitted, and at a node.
absl::Span<const Metric* const> FrontEndMetrics();
absl::Span<const Metric* const> NodeMetrics();
absl::Span<const Metric* const> BuilderMetrics();
absl::Span<const Metric* const> MonitorMetrics();
absl::Span<const Metric* const> ProcessMetrics();

// docs/metrics.md.
std::string RenderDocument();

}  // namespace sassay::metrics

#endif  // SASSAY_COMMON_METRICS_METRIC_H_
