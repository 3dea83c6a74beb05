// What a program says of its own process, under the names that Prometheus' client libraries use.
#ifndef SASSAY_COMMON_METRICS_PROCESS_METRICS_H_
#define SASSAY_COMMON_METRICS_PROCESS_METRICS_H_

#include "common/metrics/metric.h"
#include "common/metrics/metric_families.h"

namespace sassay::metrics {

inline constexpr Metric kProcessCpuSeconds = {
    "process_cpu_seconds_total", Type::kCounter, "seconds", "CPU time, of user and system", {}};
inline constexpr Metric kProcessResidentMemory = {
    "process_resident_memory_bytes", Type::kGauge, "bytes", "Memory that is resident", {}};
inline constexpr Metric kProcessStartTime = {
    "process_start_time_seconds", Type::kGauge, "seconds", "When it started, since 1970", {}};
inline constexpr Metric kProcessOpenFds = {"process_open_fds", Type::kGauge, "", "Open file descriptors", {}};
inline constexpr Metric kProcessMaxFds = {"process_max_fds", Type::kGauge, "", "File descriptors that it may open", {}};

inline constexpr const Metric* kProcessMetrics[] = {&kProcessCpuSeconds, &kProcessResidentMemory, &kProcessStartTime,
                                                    &kProcessOpenFds, &kProcessMaxFds};

// Reads /proc/self; what cannot be read is left out.
void AddProcessMetrics(Families& families);

}  // namespace sassay::metrics

#endif  // SASSAY_COMMON_METRICS_PROCESS_METRICS_H_
