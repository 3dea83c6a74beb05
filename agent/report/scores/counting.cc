#include "agent/report/scores/counting.h"

#include <algorithm>
#include <set>

namespace sassay::agent {
namespace {

bool IsLost(const TurnRow& turn) { return !turn.counts() && turn.excluded != Excluded::kSuperseded; }

std::set<uint32_t> NumbersBelow(const TrajectoryRows& trajectory, uint32_t limit, bool lost) {
  std::set<uint32_t> numbers;
  for (const TurnRow& turn : trajectory.turns) {
    if (turn.number < limit && (lost ? IsLost(turn) : turn.counts())) numbers.insert(turn.number);
  }
  return numbers;
}

}  // namespace

std::vector<const TurnRow*> CountedTurns(const TrajectoryRows& trajectory) {
  std::vector<const TurnRow*> turns;
  for (const TurnRow& turn : trajectory.turns) {
    if (turn.counts()) turns.push_back(&turn);
  }
  return turns;
}

uint32_t LostTurns(const TrajectoryRows& trajectory, uint32_t limit) {
  const std::set<uint32_t> counted = NumbersBelow(trajectory, limit, /*lost=*/false);
  const std::set<uint32_t> lost = NumbersBelow(trajectory, limit, /*lost=*/true);
  return std::count_if(lost.begin(), lost.end(), [&](uint32_t number) { return counted.count(number) == 0; });
}

bool Reached(const TrajectoryRows& trajectory, uint32_t limit) {
  if (trajectory.turn_limit < limit) return false;
  if (trajectory.ended) return true;
  return NumbersBelow(trajectory, limit, /*lost=*/false).size() + LostTurns(trajectory, limit) == limit;
}

LimitedTurns TurnsWithin(const TrajectoryRows& trajectory, uint32_t limit) {
  LimitedTurns within;
  if (!Reached(trajectory, limit)) return within;
  within.slots = limit - LostTurns(trajectory, limit);
  for (const TurnRow* turn : CountedTurns(trajectory)) {
    if (turn->number < limit) within.turns.push_back(turn);
  }
  return within;
}

}  // namespace sassay::agent
