// What turns cost: reasoning, time by stage, devices, tokens.
#ifndef SASSAY_AGENT_REPORT_SCORES_COSTS_H_
#define SASSAY_AGENT_REPORT_SCORES_COSTS_H_

#include <vector>

#include "agent/report/scores/turn_scores.h"

namespace sassay::agent {

// Length of the reasoning by turn, of counted turns that tell; empty where none does.
std::vector<v1::ReasoningByTurn> ReasoningByTurn(const Trajectories& trajectories);

// Times by stage, of stages for which any turn has one.
std::vector<v1::StageTime> StageTimes(const Trajectories& trajectories);

// Device time, tokens and money; attempts that do not count cost, too.
v1::ReportCost CostOf(const Trajectories& trajectories);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_SCORES_COSTS_H_
