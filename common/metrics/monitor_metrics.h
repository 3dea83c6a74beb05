// The rows of reliability-monitor. A row that is not in MonitorMetrics() is not exported; a test sees to it that all
// are.
//
// A reading of a GPU that is older than ten seconds is not exported: what a hanging driver said last is not what is.
#ifndef SASSAY_COMMON_METRICS_MONITOR_METRICS_H_
#define SASSAY_COMMON_METRICS_MONITOR_METRICS_H_

#include "common/metrics/metric.h"

namespace sassay::metrics {

#define SASSAY_GPU_LABELS "Hostname", "gpu", "UUID", "device", "modelName"

// What the monitor thinks of a GPU.
inline constexpr Metric kGpuState = {
    "sassay_gpu_state",
    Type::kGauge,
    "",
    "What is done with the GPU: 1 healthy, 2 suspect, 3 cooling, 4 quarantined, 5 paused; 0 not known yet",
    {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuHealthyThroughLag = {
    "sassay_gpu_healthy_through_lag_seconds",
    Type::kGauge,
    "seconds",
    "How long ago the moment is up to which the GPU is known to have been healthy; absent where nothing is known",
    {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuLost = {
    "sassay_gpu_lost", Type::kGauge, "", "1 while NVML says that the GPU is lost, else 0", {SASSAY_GPU_LABELS}};

// What NVML reads.
inline constexpr Metric kGpuTemperature = {
    "sassay_gpu_temperature_celsius", Type::kGauge, "celsius", "Temperature of the GPU", {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuThermalMargin = {"sassay_gpu_thermal_margin_celsius",
                                             Type::kGauge,
                                             "celsius",
                                             "Degrees that are left up to the limit where it slows down",
                                             {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuSmClock = {
    "sassay_gpu_sm_clock_hertz", Type::kGauge, "hertz", "Clock of the SMs", {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuMemoryClock = {
    "sassay_gpu_memory_clock_hertz", Type::kGauge, "hertz", "Clock of the memory", {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuPower = {"sassay_gpu_power_watts", Type::kGauge, "watts", "Power", {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuPowerLimit = {
    "sassay_gpu_power_limit_watts", Type::kGauge, "watts", "Power that is allowed", {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuUtilization = {"sassay_gpu_utilization_ratio",
                                           Type::kGauge,
                                           "ratio",
                                           "Share of the time in which a kernel ran, as NVML says",
                                           {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuClockReason = {
    "sassay_gpu_clock_reason",
    Type::kGauge,
    "",
    "1 while NVML gives the reason for the clock, else 0: idle, application_clocks, sw_power_cap, hw_slowdown, "
    "sync_boost, sw_thermal, hw_thermal, hw_power_brake, display",
    {SASSAY_GPU_LABELS, "reason"}};
inline constexpr Metric kGpuSlowdown = {
    "sassay_gpu_slowdown_seconds_total",
    Type::kCounter,
    "seconds",
    "Time for which the clock was held down, by NVML's own counters: thermal, hw_slowdown, power_cap",
    {SASSAY_GPU_LABELS, "cause"}};
inline constexpr Metric kGpuEccErrors = {"sassay_gpu_ecc_errors_total",
                                         Type::kCounter,
                                         "",
                                         "ECC errors since the driver was loaded: corrected, uncorrected",
                                         {SASSAY_GPU_LABELS, "kind"}};
inline constexpr Metric kGpuRowRemap = {"sassay_gpu_row_remap",
                                        Type::kGauge,
                                        "",
                                        "1 while a row of the memory waits to be remapped (pending) or could not be "
                                        "(failed), else 0",
                                        {SASSAY_GPU_LABELS, "kind"}};
inline constexpr Metric kGpuPcieReplays = {
    "sassay_gpu_pcie_replays_total", Type::kCounter, "", "Packets that were sent again over PCIe", {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuForeignProcesses = {
    "sassay_gpu_foreign_processes", Type::kGauge, "", "Processes on the GPU that are not ours", {SASSAY_GPU_LABELS}};
inline constexpr Metric kGpuXids = {"sassay_gpu_xids_total",
                                    Type::kCounter,
                                    "",
                                    "Xid events seen since the monitor started, by code",
                                    {SASSAY_GPU_LABELS, "xid"}};

// The canary.
inline constexpr Metric kCanarySeconds = {"sassay_canary_seconds",
                                          Type::kGauge,
                                          "seconds",
                                          "Median of the last canary's kernel: tensor, memory",
                                          {SASSAY_GPU_LABELS, "kernel"}};
inline constexpr Metric kCanaryRatio = {
    "sassay_canary_ratio",
    Type::kGauge,
    "ratio",
    "Time of the last canary's kernel over what is healthy for this GPU; above 1 is slower",
    {SASSAY_GPU_LABELS, "kernel"}};
inline constexpr Metric kCanaryAge = {
    "sassay_canary_age_seconds", Type::kGauge, "seconds", "How long ago the last canary was", {SASSAY_GPU_LABELS}};
inline constexpr Metric kCanaryFailures = {"sassay_canary_failures_total",
                                           Type::kCounter,
                                           "",
                                           "Canaries that could not be run, since the monitor started",
                                           {SASSAY_GPU_LABELS}};

// Incidents and what was done about them.
inline constexpr Metric kIncidents = {"sassay_incidents_total",
                                      Type::kCounter,
                                      "",
                                      "Incidents that this process of the monitor saw, by rule and severity",
                                      {"rule", "severity"}};
inline constexpr Metric kIncidentsOpen = {
    "sassay_incidents_open",
    Type::kGauge,
    "",
    "Incidents that last, by GPU (UUID is empty for those of a process or the host), rule and severity; absent where "
    "none does",
    {"Hostname", "UUID", "rule", "severity"}};
inline constexpr Metric kActions = {"sassay_monitor_actions_total",
                                    Type::kCounter,
                                    "",
                                    "What the monitor did, by kind; outcome: ok, failed",
                                    {"kind", "outcome"}};

// The monitor's own health.
inline constexpr Metric kServiceUp = {
    "sassay_monitor_service_up", Type::kGauge, "", "1 while the service's telemetry is heard, else 0", {}};
inline constexpr Metric kSourceSilent = {"sassay_monitor_source_silent_seconds",
                                         Type::kGauge,
                                         "seconds",
                                         "For how long the source has owed a reading; 0 while it answers in time",
                                         {"source"}};
inline constexpr Metric kSourceReadings = {"sassay_monitor_source_readings_total",
                                           Type::kCounter,
                                           "",
                                           "Readings of a source; outcome: ok, failed",
                                           {"source", "outcome"}};
inline constexpr Metric kSamplesDropped = {"sassay_monitor_samples_dropped_total",
                                           Type::kCounter,
                                           "",
                                           "Samples that came faster than the rules took them",
                                           {}};
inline constexpr Metric kDecisionAge = {
    "sassay_monitor_decision_age_seconds",
    Type::kGauge,
    "seconds",
    "How long ago the rules last looked at what there is; grows while the monitor itself hangs",
    {}};

// The host.
inline constexpr Metric kHostDiskFree = {"sassay_host_disk_free_ratio",
                                         Type::kGauge,
                                         "ratio",
                                         "Share of the disk with the state folder that is free",
                                         {"Hostname"}};
inline constexpr Metric kHostMemoryAvailable = {
    "sassay_host_memory_available_ratio", Type::kGauge, "ratio", "Share of the memory that is available", {"Hostname"}};
inline constexpr Metric kHostLoad = {
    "sassay_host_load_per_cpu", Type::kGauge, "", "Load of the last minute by CPU", {"Hostname"}};

#undef SASSAY_GPU_LABELS

inline constexpr const Metric* kMonitorMetrics[] = {&kGpuState,
                                                    &kGpuHealthyThroughLag,
                                                    &kGpuLost,
                                                    &kGpuTemperature,
                                                    &kGpuThermalMargin,
                                                    &kGpuSmClock,
                                                    &kGpuMemoryClock,
                                                    &kGpuPower,
                                                    &kGpuPowerLimit,
                                                    &kGpuUtilization,
                                                    &kGpuClockReason,
                                                    &kGpuSlowdown,
                                                    &kGpuEccErrors,
                                                    &kGpuRowRemap,
                                                    &kGpuPcieReplays,
                                                    &kGpuForeignProcesses,
                                                    &kGpuXids,
                                                    &kCanarySeconds,
                                                    &kCanaryRatio,
                                                    &kCanaryAge,
                                                    &kCanaryFailures,
                                                    &kIncidents,
                                                    &kIncidentsOpen,
                                                    &kActions,
                                                    &kServiceUp,
                                                    &kSourceSilent,
                                                    &kSourceReadings,
                                                    &kSamplesDropped,
                                                    &kDecisionAge,
                                                    &kHostDiskFree,
                                                    &kHostMemoryAvailable,
                                                    &kHostLoad};

}  // namespace sassay::metrics

#endif  // SASSAY_COMMON_METRICS_MONITOR_METRICS_H_
