// What Prometheus is told about GPUs, incidents and the monitor itself: common/metrics/monitor_metrics.h filled in.
#ifndef SASSAY_MONITOR_EXPORTER_EXPORTER_H_
#define SASSAY_MONITOR_EXPORTER_EXPORTER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/metrics/endpoint.h"
#include "monitor/exporter/board.h"

namespace sassay::monitor {

// Both clocks at the moment of a scrape.
struct ScrapeTime {
  absl::Time steady;
  absl::Time wall;
};

// Fills in every metric of the monitor. A reading that is older than ten seconds is left out: what a hanging driver
// said last is not what is.
void AddMonitorMetrics(const Snapshot& snapshot, const std::string& host, const ScrapeTime& now,
                       metrics::Families& families);

// Answers on `address` ("HOST:PORT") until destroyed, whatever hangs elsewhere. `board` outlives it. UNAVAILABLE if the
// port cannot be had.
absl::StatusOr<std::unique_ptr<metrics::Endpoint>> Export(const Board& board, const std::string& host,
                                                          const std::string& address);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_EXPORTER_EXPORTER_H_
