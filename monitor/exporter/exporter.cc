#include "monitor/exporter/exporter.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/metrics/monitor_metrics.h"

namespace sassay::monitor {
namespace {

using metrics::Families;
using metrics::Metric;

constexpr absl::Duration kStale = absl::Seconds(10);
// NVML's codes end below 256; what is beyond is no code.
constexpr int kLastXid = 255;

// A signal that is a metric, up to a factor and a label.
struct Row {
  const char* signal;
  const Metric& metric;
  double factor = 1;
  const char* label = nullptr;
  bool lasting = false;  // true until the next one, however long ago
};

const Row kGpuRows[] = {
    {"gpu.lost", metrics::kGpuLost},
    {"gpu.temperature_celsius", metrics::kGpuTemperature},
    {"gpu.thermal_margin_celsius", metrics::kGpuThermalMargin},
    {"gpu.sm_clock_mhz", metrics::kGpuSmClock, 1e6},
    {"gpu.memory_clock_mhz", metrics::kGpuMemoryClock, 1e6},
    {"gpu.power_watts", metrics::kGpuPower},
    {"gpu.power_limit_watts", metrics::kGpuPowerLimit},
    {"gpu.utilization_ratio", metrics::kGpuUtilization},
    {"gpu.thermal_slowdown_seconds_total", metrics::kGpuSlowdown, 1, "thermal"},
    {"gpu.hw_slowdown_seconds_total", metrics::kGpuSlowdown, 1, "hw_slowdown"},
    {"gpu.power_cap_seconds_total", metrics::kGpuSlowdown, 1, "power_cap"},
    {"gpu.ecc_corrected_total", metrics::kGpuEccErrors, 1, "corrected"},
    {"gpu.ecc_uncorrected_total", metrics::kGpuEccErrors, 1, "uncorrected"},
    {"gpu.row_remap_pending", metrics::kGpuRowRemap, 1, "pending"},
    {"gpu.row_remap_failed", metrics::kGpuRowRemap, 1, "failed"},
    {"gpu.pcie_replay_total", metrics::kGpuPcieReplays},
    {"gpu.foreign_processes", metrics::kGpuForeignProcesses},
    {"canary.tensor_ns", metrics::kCanarySeconds, 1e-9, "tensor", true},
    {"canary.memory_ns", metrics::kCanarySeconds, 1e-9, "memory", true},
};

const Row kHostRows[] = {
    {"host.disk_free_ratio", metrics::kHostDiskFree},
    {"host.memory_available_ratio", metrics::kHostMemoryAvailable},
    {"host.load_per_cpu", metrics::kHostLoad},
};

// NVML's clock-event reasons, by bit.
const std::pair<uint64_t, const char*> kReasons[] = {
    {0x1, "idle"},        {0x2, "application_clocks"}, {0x4, "sw_power_cap"},
    {0x8, "hw_slowdown"}, {0x10, "sync_boost"},        {0x20, "sw_thermal"},
    {0x40, "hw_thermal"}, {0x80, "hw_power_brake"},    {0x100, "display"}};

// One scrape.
class Scrape {
 public:
  Scrape(const Snapshot& snapshot, const std::string& host, const ScrapeTime& now, Families& families)
      : snapshot_(snapshot), host_(host), now_(now), families_(families) {}

  void AddAll() {
    for (const SubjectView& subject : snapshot_.subjects) {
      if (!subject.gpu.empty()) AddGpu(subject);
      AddOpen(subject);
    }
    for (const Row& row : kHostRows) AddReading(row, "", {host_});
    AddIncidents();
    AddMonitor();
  }

 private:
  static std::vector<std::string> With(std::vector<std::string> labels, std::string last) {
    labels.push_back(std::move(last));
    return labels;
  }

  std::vector<std::string> Labels(const SubjectView& gpu) const {
    const auto found = snapshot_.names.find(gpu.gpu);
    const GpuName name = found != snapshot_.names.end() ? found->second : GpuName{gpu.gpu};
    return {host_, name.index, gpu.gpu, name.device, name.model.empty() ? gpu.model : name.model};
  }

  const Sample* Latest(const std::string& gpu, const char* signal, bool lasting = false) const {
    const auto found = snapshot_.latest.find({gpu, signal});
    if (found == snapshot_.latest.end()) return nullptr;
    return lasting || now_.steady - found->second.at <= kStale ? &found->second : nullptr;
  }

  void AddReading(const Row& row, const std::string& gpu, const std::vector<std::string>& labels) {
    const Sample* sample = Latest(gpu, row.signal, row.lasting);
    if (sample == nullptr) return;
    families_.Add(row.metric, row.label == nullptr ? labels : With(labels, row.label), sample->value * row.factor);
  }

  void AddGpu(const SubjectView& gpu) {
    const std::vector<std::string> labels = Labels(gpu);
    families_.Add(metrics::kGpuState, labels, gpu.state);
    if (gpu.healthy_through > absl::InfinitePast()) {
      families_.Add(metrics::kGpuHealthyThroughLag, labels, absl::ToDoubleSeconds(now_.wall - gpu.healthy_through));
    }
    for (const Row& row : kGpuRows) AddReading(row, gpu.gpu, labels);
    AddClockReasons(gpu.gpu, labels);
    AddXids(gpu.gpu, labels);
    AddCanary(gpu, labels);
  }

  void AddClockReasons(const std::string& gpu, const std::vector<std::string>& labels) {
    const Sample* reasons = Latest(gpu, "gpu.clock_reasons");
    if (reasons == nullptr) return;
    const auto mask = static_cast<uint64_t>(reasons->value);
    for (const auto& [bit, name] : kReasons) {
      families_.Add(metrics::kGpuClockReason, With(labels, name), (mask & bit) != 0 ? 1 : 0);
    }
  }

  void AddXids(const std::string& gpu, const std::vector<std::string>& labels) {
    std::map<std::string, uint64_t> counts;
    for (const auto& [key, count] : snapshot_.xids) {
      const bool known = key.second >= 0 && key.second <= kLastXid;
      if (key.first == gpu) counts[known ? absl::StrCat(key.second) : "other"] += count;
    }
    for (const auto& [code, count] : counts) families_.Add(metrics::kGpuXids, With(labels, code), count);
  }

  void AddCanary(const SubjectView& gpu, const std::vector<std::string>& labels) {
    if (gpu.canary_tensor_ratio > 0) {
      families_.Add(metrics::kCanaryRatio, With(labels, "tensor"), gpu.canary_tensor_ratio);
    }
    if (gpu.canary_memory_ratio > 0) {
      families_.Add(metrics::kCanaryRatio, With(labels, "memory"), gpu.canary_memory_ratio);
    }
    if (gpu.last_canary > absl::InfinitePast()) {
      families_.Add(metrics::kCanaryAge, labels, absl::ToDoubleSeconds(now_.wall - gpu.last_canary));
    }
    const auto failures = snapshot_.canary_failures.find(gpu.gpu);
    families_.Add(metrics::kCanaryFailures, labels, failures == snapshot_.canary_failures.end() ? 0 : failures->second);
  }

  void AddOpen(const SubjectView& subject) {
    Counts open;
    for (const sassay::v1::Incident& incident : subject.open) {
      ++open[{incident.rule(), std::string(SeverityLabel(incident.severity()))}];
    }
    for (const auto& [key, count] : open) {
      families_.Add(metrics::kIncidentsOpen, {host_, subject.gpu, key.first, key.second}, count);
    }
  }

  void AddIncidents() {
    for (const auto& [key, count] : snapshot_.incidents) {
      families_.Add(metrics::kIncidents, {key.first, key.second}, count);
    }
    for (const auto& [key, count] : snapshot_.actions) {
      families_.Add(metrics::kActions, {key.first, key.second}, count);
    }
  }

  void AddMonitor() {
    families_.Add(metrics::kServiceUp, {}, snapshot_.service_up ? 1 : 0);
    for (const auto& [name, source] : snapshot_.sources) {
      families_.Add(metrics::kSourceSilent, {name}, absl::ToDoubleSeconds(source.silent));
      families_.Add(metrics::kSourceReadings, {name, "ok"}, source.readings);
      families_.Add(metrics::kSourceReadings, {name, "failed"}, source.failures);
    }
    families_.Add(metrics::kSamplesDropped, {}, snapshot_.samples_dropped);
    if (snapshot_.decided.has_value()) {
      families_.Add(metrics::kDecisionAge, {}, absl::ToDoubleSeconds(now_.steady - *snapshot_.decided));
    }
  }

  const Snapshot& snapshot_;
  const std::string& host_;
  const ScrapeTime& now_;
  Families& families_;
};

}  // namespace

void AddMonitorMetrics(const Snapshot& snapshot, const std::string& host, const ScrapeTime& now, Families& families) {
  Scrape(snapshot, host, now, families).AddAll();
}

absl::StatusOr<std::unique_ptr<metrics::Endpoint>> Export(const Board& board, const std::string& host,
                                                          const std::string& address) {
  return metrics::Endpoint::Listen(address, {metrics::CollectWith([&board, host](Families& families) {
                                     AddMonitorMetrics(board.snapshot(), host, {SteadyNow(), absl::Now()}, families);
                                   })});
}

}  // namespace sassay::monitor
