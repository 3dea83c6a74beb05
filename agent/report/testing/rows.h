// Turns for tests, in few words.
#ifndef SASSAY_AGENT_REPORT_TESTING_ROWS_H_
#define SASSAY_AGENT_REPORT_TESTING_ROWS_H_

#include <string>
#include <utility>
#include <vector>

#include "agent/report/turn_table.h"

namespace sassay::agent {

// A turn that counts. Correct ones are as fast as the baseline.
inline TurnRow MakeTurn(uint32_t number, TurnOutcome outcome) {
  TurnRow turn;
  turn.number = number;
  turn.outcome = outcome;
  turn.rules = "2026.1";
  if (turn.correct()) turn.speedup = 1;
  return turn;
}

// A correct turn with target.
inline TurnRow MakeFastTurn(uint32_t number, double speedup) {
  TurnRow turn = MakeTurn(number, TurnOutcome::kCorrectWithTarget);
  turn.speedup = speedup;
  return turn;
}

// An ended trajectory of 8 turns at most.
inline TrajectoryRows MakeTrajectory(std::string id, std::vector<TurnRow> turns) {
  TrajectoryRows trajectory;
  trajectory.model = "model", trajectory.arch = "sm_90a", trajectory.definition = "gemm";
  trajectory.workload = "gemm/M=1", trajectory.trajectory = std::move(id);
  trajectory.turn_limit = 8;
  trajectory.ended = true;
  trajectory.turns = std::move(turns);
  return trajectory;
}

// One trajectory's turns from outcomes, in order.
inline TrajectoryRows MakeTrajectory(std::string id, const std::vector<TurnOutcome>& outcomes) {
  std::vector<TurnRow> turns;
  for (size_t i = 0; i < outcomes.size(); ++i) turns.push_back(MakeTurn(i, outcomes[i]));
  return MakeTrajectory(std::move(id), std::move(turns));
}

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_TESTING_ROWS_H_
