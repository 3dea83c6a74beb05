// What becomes of candidates, turn by turn, and what follows on what.
#ifndef SASSAY_AGENT_REPORT_SCORES_OUTCOMES_H_
#define SASSAY_AGENT_REPORT_SCORES_OUTCOMES_H_

#include <vector>

#include "agent/report/scores/turn_scores.h"

namespace sassay::agent {

// Outcomes of counted turns, by turn and in the order of TurnOutcome; only those that occur.
std::vector<v1::OutcomeCount> OutcomesByTurn(const Trajectories& trajectories);

// What followed on what: pairs of a trajectory's counted turns with successive numbers. Only pairs that occur.
std::vector<v1::OutcomeTransition> Transitions(const Trajectories& trajectories);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_SCORES_OUTCOMES_H_
