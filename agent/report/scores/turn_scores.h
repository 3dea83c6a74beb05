// Turn correctness, trajectory rates, best speed-ups and Fast_p: the paper's scores.
#ifndef SASSAY_AGENT_REPORT_SCORES_TURN_SCORES_H_
#define SASSAY_AGENT_REPORT_SCORES_TURN_SCORES_H_

#include <cstdint>
#include <vector>

#include "agent/report/turn_table.h"
#include "sassay/v1/report.pb.h"

namespace sassay::agent {

using Trajectories = std::vector<const TrajectoryRows*>;

// N trajectories of T turns: correct turns / (N·T), trajectories with a correct turn / N, the fastest of them; each
// with the target instructions and without asking for them (arXiv 2608.17379).
v1::TurnLimitScore ScoreAt(const Trajectories& trajectories, uint32_t turn_limit);

// Fast_p^Inst(p) for all p >= 0, as a step function over trajectories.
v1::FastP FastPOfTrajectories(const Trajectories& trajectories, uint32_t turn_limit);

// The same over tasks: a definition and workload is one, and has such a turn if one of its trajectories has.
v1::FastP FastPOfTasks(const Trajectories& trajectories, uint32_t turn_limit);

// Speed-ups by turn, of turns that are correct with target. A trajectory is part of a turn's median if it has reached
// it (counting.h).
std::vector<v1::SpeedupByTurn> SpeedupsByTurn(const Trajectories& trajectories);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_SCORES_TURN_SCORES_H_
