// Our own runs (agent/trajectory) as turns to score.
#ifndef SASSAY_AGENT_REPORT_READ_RUNS_H_
#define SASSAY_AGENT_REPORT_READ_RUNS_H_

#include "agent/report/turn_table.h"
#include "agent/trajectory/trajectory.h"

namespace sassay::agent {

// Adds a run's turns. A turn without verdict counts if its answer held no candidate, and is left out if it is still on
// its way. Attempts that were excluded, turns that were taken back, and verdicts that were excluded or are
// INFRA_ERROR or CANCELLED become rows that count nowhere; `name` is the source as it was named.
void AddRun(const Run& run, absl::string_view name, TurnTable& table);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_READ_RUNS_H_
