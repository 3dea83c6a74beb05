// What counts: the denominators of every score (docs/report.md, "What counts").
#ifndef SASSAY_AGENT_REPORT_SCORES_COUNTING_H_
#define SASSAY_AGENT_REPORT_SCORES_COUNTING_H_

#include <cstdint>
#include <vector>

#include "agent/report/turn_table.h"

namespace sassay::agent {

// A trajectory's turns that count, by number. Points into the table.
std::vector<const TurnRow*> CountedTurns(const TrajectoryRows& trajectory);

// Turns below `limit` of which nothing counts because every attempt was lost to an exclusion or to trouble of our own.
uint32_t LostTurns(const TrajectoryRows& trajectory, uint32_t limit);

// Whether the trajectory says what happens in `limit` turns: it was allowed so many, and has either had them or ended.
bool Reached(const TrajectoryRows& trajectory, uint32_t limit);

// One trajectory at one turn limit; all zero where it does not count there.
struct LimitedTurns {
  // The limit less lost turns; 0: it does not count.
  uint32_t slots = 0;
  // Those that count.
  std::vector<const TurnRow*> turns;
};
LimitedTurns TurnsWithin(const TrajectoryRows& trajectory, uint32_t limit);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_SCORES_COUNTING_H_
