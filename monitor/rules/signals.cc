#include "monitor/rules/signals.h"

#include <algorithm>

namespace sassay::monitor {

const std::vector<Signal>& Signals() {
  constexpr auto kPolled = SignalKind::kPolled;
  constexpr auto kOccasion = SignalKind::kOccasion;
  static const auto& signals = *new std::vector<Signal>{
      {"canary.failed", kOccasion},
      {"canary.memory_ns", kOccasion},
      {"canary.memory_peer_ratio", kPolled},
      {"canary.memory_ratio", kPolled},
      {"canary.tensor_ns", kOccasion},
      {"canary.tensor_peer_ratio", kPolled},
      {"canary.tensor_ratio", kPolled},
      {"fault.blamed", kOccasion},
      {"fault.unblamed", kOccasion},
      {"gpu.clock_reasons", kPolled},
      {"gpu.ecc_corrected_total", kPolled},
      {"gpu.ecc_uncorrected_total", kPolled},
      {"gpu.foreign_processes", kPolled},
      {"gpu.hw_slowdown_ratio", kPolled},
      {"gpu.hw_slowdown_seconds_total", kPolled},
      {"gpu.lost", kPolled},
      {"gpu.memory_clock_mhz", kPolled},
      {"gpu.memory_temperature_celsius", kPolled},
      {"gpu.model", kOccasion},
      {"gpu.pcie_replay_total", kPolled},
      {"gpu.power_cap_ratio", kPolled},
      {"gpu.power_cap_seconds_total", kPolled},
      {"gpu.power_limit_watts", kPolled},
      {"gpu.power_watts", kPolled},
      {"gpu.release_asked", kOccasion},
      {"gpu.released", kOccasion},
      {"gpu.row_remap_failed", kPolled},
      {"gpu.row_remap_pending", kPolled},
      {"gpu.silent_seconds", kOccasion},
      {"gpu.sm_clock_mhz", kPolled},
      {"gpu.temperature_celsius", kPolled},
      {"gpu.thermal_margin_celsius", kPolled},
      {"gpu.thermal_slowdown_ratio", kPolled},
      {"gpu.thermal_slowdown_seconds_total", kPolled},
      {"gpu.utilization_ratio", kPolled},
      {"gpu.xid", kOccasion},
      {"host.clock_jump_seconds", kOccasion},
      {"host.disk_free_ratio", kPolled},
      {"host.load_per_cpu", kPolled},
      {"host.memory_available_ratio", kPolled},
      {"judge.died", kOccasion},
      {"judge.silent_seconds", kPolled},
      {"runner.died", kOccasion},
      {"runner.killed", kOccasion},
      {"runner.overdue_seconds", kPolled},
      {"service.exited", kOccasion},
      {"service.silent_seconds", kPolled},
      {"service.started", kOccasion},
      {"service.telemetry_gap", kOccasion},
      {"source.silent_seconds", kPolled},
      {"stage.seconds", kOccasion},
      {"timing.baseline_ratio", kOccasion},
      {"timing.void_ratio", kOccasion},
  };
  return signals;
}

const Signal* FindSignal(absl::string_view name) {
  const auto& all = Signals();
  const auto found = std::lower_bound(all.begin(), all.end(), name, [](const Signal& signal, absl::string_view wanted) {
    return signal.name < wanted;
  });
  return found == all.end() || found->name != name ? nullptr : &*found;
}

}  // namespace sassay::monitor
