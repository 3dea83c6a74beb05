// The rows of profiler-service --role builder. A row that is not in BuilderMetrics() is not exported; a test sees to it
// that all are.
#ifndef SASSAY_COMMON_METRICS_BUILDER_METRICS_H_
#define SASSAY_COMMON_METRICS_BUILDER_METRICS_H_

#include "common/metrics/metric.h"
#include "common/metrics/service_metrics.h"

namespace sassay::metrics {

inline constexpr Metric kBuilderPlaces = {
    "sassay_builder_places", Type::kGauge, "", "Builds that may run at once (--build-places)", {}};
inline constexpr Metric kBuildsRunning = {"sassay_builds_running", Type::kGauge, "", "Builds that run", {}};
inline constexpr Metric kBuildsWaiting = {
    "sassay_builds_waiting", Type::kGauge, "", "Builds whose sources are here and that wait for a place", {}};
inline constexpr Metric kBuilds = {"sassay_builds_total",
                                   Type::kCounter,
                                   "",
                                   "Builds that ran, by how they ended: built; candidate (it does not compile or "
                                   "cannot be captured); usage (settings or sources that cannot be); infrastructure "
                                   "(the builder's own fault, its deadline included); cancelled (the client left, or "
                                   "the builder stopped)",
                                   {"outcome"}};
inline constexpr Metric kBuildSeconds = {
    "sassay_build_seconds", Type::kHistogram, "seconds", "Wall time of a build that ran, its wait not included", {}};

inline constexpr const Metric* kBuilderMetrics[] = {&kBuilderPlaces, &kBuildsRunning, &kBuildsWaiting,
                                                    &kBuilds,        &kBuildSeconds,  &kRpcsRefused};

}  // namespace sassay::metrics

#endif  // SASSAY_COMMON_METRICS_BUILDER_METRICS_H_
