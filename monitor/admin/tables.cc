#include "monitor/admin/tables.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_json.h"
#include "common/base/proto_time.h"
#include "common/terminal/text.h"

namespace sassay::monitor {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string StateText(v1::GpuState state) { return LowerCase(EnumName(state)); }

// Colours whole lines: cells must be free of colours for their width to be known.
std::string Painted(const std::string& table, const std::vector<v1::GpuState>& states, const Style& style) {
  const std::vector<std::string> lines = absl::StrSplit(table, '\n', absl::SkipEmpty());
  std::string painted = style.Bold(lines.front()) + "\n";
  for (size_t i = 1; i < lines.size(); ++i) {
    const v1::GpuState state = states[i - 1];
    const std::string line = state == v1::GPU_STATE_QUARANTINED ? style.Bad(lines[i])
                             : state == v1::GPU_STATE_HEALTHY   ? lines[i]
                                                                : style.Warn(lines[i]);
    absl::StrAppend(&painted, line, "\n");
  }
  return painted;
}

std::string HoldsText(const v1::Gpu& gpu, absl::Time now) {
  std::vector<std::string> holds;
  for (const v1::Hold& hold : gpu.holds()) {
    holds.push_back(absl::StrCat(PrintableLine(hold.holder()), " ", StateText(hold.state()), " for ",
                                 AgeText(now - TimeOf(hold.since())), hold.reason().empty() ? "" : ": ",
                                 PrintableLine(hold.reason())));
  }
  return holds.empty() ? PrintableLine(gpu.reason()) : absl::StrJoin(holds, "; ");
}

std::string Seconds(uint64_t nanoseconds) { return absl::StrFormat("%.1f", static_cast<double>(nanoseconds) * 1e-9); }

std::vector<std::string> UsageRow(const v1::TenantUsage& tenant) {
  return {PrintableLine(tenant.tenant()),        CountText(tenant.verdicts()),      Seconds(tenant.gpu_ns()),
          CountText(tenant.excluded_verdicts()), Seconds(tenant.excluded_gpu_ns()), CountText(tenant.lost_attempts()),
          Seconds(tenant.lost_gpu_ns())};
}

v1::TenantUsage Sum(const v1::GetUsageResponse& usage) {
  v1::TenantUsage sum;
  sum.set_tenant("all");
  for (const v1::TenantUsage& tenant : usage.tenants()) {
    sum.set_verdicts(sum.verdicts() + tenant.verdicts());
    sum.set_gpu_ns(sum.gpu_ns() + tenant.gpu_ns());
    sum.set_excluded_verdicts(sum.excluded_verdicts() + tenant.excluded_verdicts());
    sum.set_excluded_gpu_ns(sum.excluded_gpu_ns() + tenant.excluded_gpu_ns());
    sum.set_lost_attempts(sum.lost_attempts() + tenant.lost_attempts());
    sum.set_lost_gpu_ns(sum.lost_gpu_ns() + tenant.lost_gpu_ns());
  }
  return sum;
}

std::vector<std::string> CanaryRow(const std::string& name, const v1::CanaryKernel& kernel) {
  return {name,
          DurationText(kernel.median_ns()),
          DurationText(kernel.min_ns()),
          DurationText(kernel.max_ns()),
          CountText(kernel.launches()),
          kernel.sm_clock_mhz() > 0 ? absl::StrFormat("%.0f MHz", kernel.sm_clock_mhz()) : "-"};
}

std::string Severity(const v1::Incident& incident, const Style& style) {
  const std::string name = LowerCase(EnumName(incident.severity()));
  if (incident.severity() == v1::SEVERITY_CRITICAL) return style.Bad(name);
  return incident.severity() == v1::SEVERITY_WARNING ? style.Warn(name) : name;
}

}  // namespace

std::string TimeText(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0 && time.nanos() == 0) return "-";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", TimeOf(time), absl::UTCTimeZone());
}

std::string AgeText(absl::Duration age) {
  const int64_t seconds = std::max<int64_t>(0, absl::ToInt64Seconds(age));
  if (seconds < 120) return absl::StrCat(seconds, " s");
  if (seconds < 7200) return absl::StrCat(seconds / 60, " min");
  return absl::StrCat(seconds / 3600, " h ", seconds % 3600 / 60, " min");
}

std::string GpusText(const v1::ListGpusResponse& gpus, absl::Time now, const Style& style) {
  if (gpus.gpus().empty()) return "the service has no GPU\n";
  // On a service of one machine nobody asks where.
  const bool cluster =
      std::any_of(gpus.gpus().begin(), gpus.gpus().end(), [](const v1::Gpu& gpu) { return !gpu.node().empty(); });
  Rows rows = {{"GPU", "MODEL", "STATE", "RUNNING", "WATCHED", "HELD BY"}};
  if (cluster) rows.front().insert(rows.front().begin() + 1, "NODE");
  std::vector<v1::GpuState> states;
  for (const v1::Gpu& gpu : gpus.gpus()) {
    const std::string watched =
        gpu.has_healthy_through() ? AgeText(now - TimeOf(gpu.healthy_through())) + " ago" : "no";
    rows.push_back({PrintableLine(gpu.uuid()), PrintableLine(gpu.model()), StateText(gpu.state()),
                    absl::StrCat(gpu.running()), watched, HoldsText(gpu, now)});
    if (cluster) {
      rows.back().insert(rows.back().begin() + 1, gpu.node().empty() ? "here" : PrintableLine(gpu.node()));
    }
    states.push_back(gpu.state());
  }
  return Painted(Columns(rows, ""), states, style);
}

std::string IncidentText(const v1::Incident& incident, const Style& style) {
  const std::string where = incident.uuid().empty() ? absl::StrCat("host ", incident.host()) : incident.uuid();
  const std::string change =
      incident.after() == v1::GPU_STATE_UNSPECIFIED || incident.before() == incident.after()
          ? ""
          : absl::StrCat(" [", StateText(incident.before()), " -> ", StateText(incident.after()), "]");
  std::string text = absl::StrCat(TimeText(incident.from()), "  ", Severity(incident, style), "  ",
                                  PrintableLine(where), "  ", style.Name(PrintableLine(incident.rule())), change, "  ",
                                  PrintableLine(incident.reason()), "\n  ", style.Dim(PrintableLine(incident.id())),
                                  ", ", incident.has_to() ? "until " + TimeText(incident.to()) : "goes on", "\n");
  for (const std::string& action : incident.actions()) absl::StrAppend(&text, "  ", PrintableLine(action), "\n");
  return text;
}

std::vector<v1::Incident> NewestRevisions(const std::vector<v1::Incident>& incidents) {
  std::map<std::string, v1::Incident> newest;
  for (const v1::Incident& incident : incidents) {
    v1::Incident& kept = newest[incident.id()];
    if (incident.revision() >= kept.revision()) kept = incident;
  }
  std::vector<v1::Incident> sorted;
  for (auto& [id, incident] : newest) sorted.push_back(std::move(incident));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const v1::Incident& a, const v1::Incident& b) { return TimeOf(a.from()) < TimeOf(b.from()); });
  return sorted;
}

std::string TenantsText(const v1::GetUsageResponse& usage) {
  Rows rows = {{"TENANT", "WEIGHT", "WAITING", "RUNNING", "VERDICTS", "RECENT GPU SECONDS"}};
  for (const v1::TenantUsage& tenant : usage.tenants()) {
    rows.push_back({PrintableLine(tenant.tenant()), CountText(tenant.weight()), CountText(tenant.queued()),
                    CountText(tenant.running()), CountText(tenant.verdicts()), Seconds(tenant.recent_gpu_ns())});
  }
  return rows.size() > 1 ? Columns(rows, "") : "nobody has used this service yet\n";
}

std::string UsageText(const v1::GetUsageResponse& usage) {
  Rows rows = {{"TENANT", "VERDICTS", "GPU SECONDS", "EXCLUDED", "GPU SECONDS", "LOST", "GPU SECONDS"}};
  for (const v1::TenantUsage& tenant : usage.tenants()) rows.push_back(UsageRow(tenant));
  if (rows.size() == 1) return "nobody has used this service yet\n";
  if (rows.size() > 2) rows.push_back(UsageRow(Sum(usage)));
  return Columns(rows, "");
}

std::string AuditText(const v1::ListAuditResponse& audit) {
  Rows rows = {{"NUMBER", "WHEN", "WHO", "WHAT", "TO", "OUTCOME", "DETAIL"}};
  for (const v1::AuditEntry& entry : audit.entries()) {
    rows.push_back({absl::StrCat(entry.sequence()), TimeText(entry.at()), PrintableLine(entry.actor()),
                    PrintableLine(entry.action()), PrintableLine(entry.target()), PrintableLine(entry.outcome()),
                    PrintableLine(entry.detail())});
  }
  return rows.size() > 1 ? Columns(rows, "") : "nothing later is in the audit log\n";
}

std::string CanaryText(const v1::RunCanaryResponse& canary) {
  Rows rows = {{"KERNEL", "MEDIAN", "FASTEST", "SLOWEST", "LAUNCHES", "SM CLOCK"},
               CanaryRow("tensor", canary.tensor()),
               CanaryRow("memory", canary.memory())};
  const std::string highest =
      canary.max_sm_clock_mhz() > 0 ? absl::StrCat("highest SM clock: ", canary.max_sm_clock_mhz(), " MHz\n") : "";
  return Columns(rows, "") + highest;
}

}  // namespace sassay::monitor
