#include "common/metrics/metric.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/metrics/builder_metrics.h"
#include "common/metrics/cluster_metrics.h"
#include "common/metrics/monitor_metrics.h"
#include "common/metrics/process_metrics.h"
#include "common/metrics/service_metrics.h"

namespace sassay::metrics {
namespace {

constexpr absl::string_view kHead = R"(# Metrics

Made from the tables in `common/metrics` by `metrics_document`; a test fails where this page is stale.

`profiler-service --metrics HOST:PORT` (127.0.0.1:9464 unless told otherwise) and `reliability-monitor --metrics HOST:PORT`
(127.0.0.1:9465) each answer `GET /metrics` in Prometheus' text format. Names begin with `sassay_`, units are base units, counters
end in `_total` and begin at 0 with the process unless they say otherwise. A number that is not known is `NaN` or absent, never 0.
Labels of a GPU are spelled as dcgm-exporter's, so that `on (UUID)` joins both. Labels are bounded: no tenant, submission or process.

What to make of them: [deploy/prometheus](../deploy/prometheus) has recording and alert rules, [deploy/grafana](../deploy/grafana)
dashboards, [operations.md](operations.md) what each alert means.
)";

absl::string_view TypeName(Type type) {
  switch (type) {
    case Type::kCounter:
      return "counter";
    case Type::kGauge:
      return "gauge";
    case Type::kHistogram:
      return "histogram";
  }
  return "";
}

std::string RenderRow(const Metric& metric) {
  const std::string labels = absl::StrJoin(metric.labels(), ", ");
  return absl::StrCat("| `", metric.name, "` | ", TypeName(metric.type), " | ", metric.unit, " | ", labels, " | ",
                      metric.help, " |\n");
}

std::string RenderProgram(absl::string_view title, absl::Span<const Metric* const> rows) {
  std::string text =
      absl::StrCat("\n## ", title, "\n\n| name | type | unit | labels | what |\n|---|---|---|---|---|\n");
  for (const Metric* row : rows) absl::StrAppend(&text, RenderRow(*row));
  return text;
}

}  // namespace

absl::Span<const absl::string_view> Metric::labels() const {
  const auto end = std::find(label_names.begin(), label_names.end(), absl::string_view());
  return {label_names.data(), static_cast<size_t>(end - label_names.begin())};
}

absl::Span<const Metric* const> ServiceMetrics() { return kServiceMetrics; }
absl::Span<const Metric* const> FrontEndMetrics() { return kFrontEndMetrics; }
absl::Span<const Metric* const> NodeMetrics() { return kNodeMetrics; }
absl::Span<const Metric* const> BuilderMetrics() { return kBuilderMetrics; }
absl::Span<const Metric* const> MonitorMetrics() { return kMonitorMetrics; }
absl::Span<const Metric* const> ProcessMetrics() { return kProcessMetrics; }

std::string RenderDocument() {
  return absl::StrCat(kHead, RenderProgram("profiler-service", ServiceMetrics()),
                      RenderProgram("profiler-service where nodes are admitted, besides", FrontEndMetrics()),
                      RenderProgram("profiler-service --role node, besides", NodeMetrics()),
                      RenderProgram("profiler-service --role builder", BuilderMetrics()),
                      RenderProgram("reliability-monitor", MonitorMetrics()),
                      RenderProgram("Both, of their own process", ProcessMetrics()));
}

}  // namespace sassay::metrics
