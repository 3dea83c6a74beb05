// From a log's records to the trajectory that they tell of.
#ifndef SASSAY_AGENT_TRAJECTORY_FOLD_H_
#define SASSAY_AGENT_TRAJECTORY_FOLD_H_

#include "absl/status/status.h"
#include "agent/trajectory/trajectory.h"

namespace sassay::agent {

// Adds the next record. INVALID_ARGUMENT, and the trajectory unchanged, where it cannot follow what came before: a gap
// in the numbers, an answer that nobody asked for, a verdict on no turn. Being asked, extracted or submitted again is
// no contradiction: a process that was killed does so when it comes back.
absl::Status Fold(const v1::TrajectoryRecord& record, Trajectory& trajectory);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_TRAJECTORY_FOLD_H_
