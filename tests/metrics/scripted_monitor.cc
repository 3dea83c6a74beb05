// For tests alone: the monitor's exporter with a script instead of a driver. Every metric has a value, counters move.
#include <csignal>
#include <iostream>
#include <string>

#include "absl/time/clock.h"
#include "common/base/steady_time.h"
#include "monitor/exporter/exporter.h"

namespace sassay::monitor {
namespace {

volatile std::sig_atomic_t stopped = 0;

SubjectView Subject(int round) {
  SubjectView gpu;
  gpu.gpu = "GPU-1";
  gpu.state = round % 8 < 4 ? sassay::v1::GPU_STATE_HEALTHY : sassay::v1::GPU_STATE_COOLING;
  gpu.healthy_through = gpu.last_canary = absl::Now() - absl::Milliseconds(300);
  gpu.canary_tensor_ratio = 1.002;
  gpu.canary_memory_ratio = 0.998;
  sassay::v1::Incident& incident = gpu.open.emplace_back();
  incident.set_id("i1");
  incident.set_rule("gpu_thermal");
  incident.set_severity(sassay::v1::SEVERITY_WARNING);
  return gpu;
}

void Tell(Board& board, int round) {
  const absl::Time now = SteadyNow();
  std::vector<Sample> samples;
  for (const char* signal :
       {"gpu.lost", "gpu.temperature_celsius", "gpu.thermal_margin_celsius", "gpu.sm_clock_mhz", "gpu.memory_clock_mhz",
        "gpu.power_watts", "gpu.power_limit_watts", "gpu.utilization_ratio", "gpu.thermal_slowdown_seconds_total",
        "gpu.ecc_corrected_total", "gpu.row_remap_pending", "gpu.pcie_replay_total", "gpu.foreign_processes",
        "gpu.clock_reasons", "canary.tensor_ns", "canary.memory_ns"}) {
    samples.push_back({now, "GPU-1", signal, static_cast<double>(round)});
  }
  for (const char* signal : {"host.disk_free_ratio", "host.memory_available_ratio", "host.load_per_cpu"}) {
    samples.push_back({now, "", signal, 0.5});
  }
  if (round == 0) samples.push_back({now, "GPU-1", "gpu.xid", 31});
  board.Saw(samples);
  board.Show({Subject(round)});
  board.ShowSource("nvml", {absl::ZeroDuration(), static_cast<uint64_t>(round), 0});
  board.Acted("PAUSE", true);
  board.SetServiceUp(true);
}

int Run() {
  std::signal(SIGTERM, [](int) { stopped = 1; });
  Board board;
  board.Name({{"GPU-1", "0", "nvidia0", "NVIDIA H200"}});
  const auto endpoint = Export(board, "node1", "127.0.0.1:0");
  if (!endpoint.ok()) return 1;
  std::cout << "metrics=" << (*endpoint)->address() << std::endl;
  for (int round = 0; stopped == 0; ++round) {
    Tell(board, round);
    absl::SleepFor(absl::Milliseconds(200));
  }
  return 0;
}

}  // namespace
}  // namespace sassay::monitor

int main() { return sassay::monitor::Run(); }
