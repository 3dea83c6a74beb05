#include "agent/report/scores/turn_scores.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "agent/report/scores/counting.h"
#include "agent/report/scores/statistics.h"

namespace sassay::agent {
namespace {

// The fastest of turns; nothing where none was timed.
struct Best {
  bool any = false;
  std::optional<double> speedup;

  void Take(const TurnRow& turn) {
    any = true;
    if (turn.speedup.has_value()) speedup = std::max(speedup.value_or(0), *turn.speedup);
  }
  // As published tables have it: 0 where there is no such turn. Nothing where there is one, but no time.
  std::optional<double> Published() const { return any ? speedup : 0; }
};

struct BestOfTurns {
  Best with_target, correct;
};

BestOfTurns BestOf(const std::vector<const TurnRow*>& turns) {
  BestOfTurns best;
  for (const TurnRow* turn : turns) {
    if (turn->correct()) best.correct.Take(*turn);
    if (turn->with_target()) best.with_target.Take(*turn);
  }
  return best;
}

uint32_t CountIf(const std::vector<const TurnRow*>& turns, bool (TurnRow::*predicate)() const) {
  return std::count_if(turns.begin(), turns.end(), [&](const TurnRow* turn) { return (turn->*predicate)(); });
}

void AddTrajectory(const LimitedTurns& within, v1::TurnLimitScore& score) {
  const uint32_t with_target = CountIf(within.turns, &TurnRow::with_target);
  const uint32_t correct = CountIf(within.turns, &TurnRow::correct);
  score.set_trajectories(score.trajectories() + 1);
  score.set_turns(score.turns() + within.slots);
  score.set_turns_not_made(score.turns_not_made() + within.slots - static_cast<uint32_t>(within.turns.size()));
  score.set_correct_with_target(score.correct_with_target() + with_target);
  score.set_correct(score.correct() + correct);
  score.set_trajectories_with_target(score.trajectories_with_target() + (with_target > 0));
  score.set_trajectories_correct(score.trajectories_correct() + (correct > 0));
}

double Ratio(uint32_t part, uint32_t whole) { return static_cast<double>(part) / whole; }

void SetRates(v1::TurnLimitScore& score) {
  score.set_turn_correct_with_target(Ratio(score.correct_with_target(), score.turns()));
  score.set_turn_correct(Ratio(score.correct(), score.turns()));
  score.set_trajectory_rate_with_target(Ratio(score.trajectories_with_target(), score.trajectories()));
  score.set_trajectory_rate(Ratio(score.trajectories_correct(), score.trajectories()));
}

// The fastest of each unit; 0 where nothing is faster than anything.
using UnitBests = std::vector<std::pair<double, double>>;

double ShareAbove(const std::vector<double>& sorted, double p) {
  const auto above = std::upper_bound(sorted.begin(), sorted.end(), p);
  return static_cast<double>(sorted.end() - above) / static_cast<double>(sorted.size());
}

v1::FastP StepsOf(const UnitBests& units, uint32_t turn_limit) {
  v1::FastP fast_p;
  fast_p.set_turn_limit(turn_limit);
  fast_p.set_units(units.size());
  if (units.empty()) return fast_p;
  std::vector<double> with_target, correct;
  std::set<double> places = {0};
  for (const auto& [target, any] : units) {
    with_target.push_back(target);
    correct.push_back(any);
    places.insert({target, any});
  }
  std::sort(with_target.begin(), with_target.end());
  std::sort(correct.begin(), correct.end());
  for (const double p : places) {
    v1::FastPStep& step = *fast_p.add_steps();
    step.set_p(p);
    step.set_with_target(ShareAbove(with_target, p));
    step.set_unrestricted(ShareAbove(correct, p));
  }
  return fast_p;
}

std::pair<double, double> BestPair(const LimitedTurns& within) {
  const BestOfTurns best = BestOf(within.turns);
  return {best.with_target.speedup.value_or(0), best.correct.speedup.value_or(0)};
}

// Each trajectory's fastest before and at each turn that it reached.
class RunningBests {
 public:
  explicit RunningBests(const TrajectoryRows& trajectory) : trajectory_(trajectory), turns_(CountedTurns(trajectory)) {}

  std::optional<double> At(uint32_t number) {
    if (!Reached(trajectory_, number + 1)) return std::nullopt;
    for (; next_ < turns_.size() && turns_[next_]->number <= number; ++next_) {
      const TurnRow& turn = *turns_[next_];
      if (turn.with_target()) best_ = std::max(best_, turn.speedup.value_or(0));
    }
    return best_;
  }

 private:
  const TrajectoryRows& trajectory_;
  const std::vector<const TurnRow*> turns_;
  size_t next_ = 0;
  double best_ = 0;
};

std::map<uint32_t, std::vector<double>> MeasuredByTurn(const Trajectories& trajectories) {
  std::map<uint32_t, std::vector<double>> measured;
  for (const TrajectoryRows* trajectory : trajectories) {
    for (const TurnRow* turn : CountedTurns(*trajectory)) {
      std::vector<double>& sample = measured[turn->number];
      if (turn->with_target() && turn->speedup.has_value()) sample.push_back(*turn->speedup);
    }
  }
  return measured;
}

double MedianAt(std::vector<RunningBests>& runs, uint32_t number) {
  std::vector<double> bests;
  for (RunningBests& run : runs) {
    if (const std::optional<double> best = run.At(number)) bests.push_back(*best);
  }
  std::sort(bests.begin(), bests.end());
  return Quantile(bests, 0.5);
}

}  // namespace

v1::TurnLimitScore ScoreAt(const Trajectories& trajectories, uint32_t turn_limit) {
  v1::TurnLimitScore score;
  score.set_turn_limit(turn_limit);
  std::vector<const TurnRow*> all;
  for (const TrajectoryRows* trajectory : trajectories) {
    const LimitedTurns within = TurnsWithin(*trajectory, turn_limit);
    if (within.slots == 0) continue;
    AddTrajectory(within, score);
    all.insert(all.end(), within.turns.begin(), within.turns.end());
  }
  if (score.trajectories() == 0) return score;
  SetRates(score);
  const BestOfTurns best = BestOf(all);
  if (const auto speedup = best.with_target.Published()) score.set_best_speedup_with_target(*speedup);
  if (const auto speedup = best.correct.Published()) score.set_best_speedup(*speedup);
  return score;
}

v1::FastP FastPOfTrajectories(const Trajectories& trajectories, uint32_t turn_limit) {
  UnitBests units;
  for (const TrajectoryRows* trajectory : trajectories) {
    const LimitedTurns within = TurnsWithin(*trajectory, turn_limit);
    if (within.slots > 0) units.push_back(BestPair(within));
  }
  return StepsOf(units, turn_limit);
}

v1::FastP FastPOfTasks(const Trajectories& trajectories, uint32_t turn_limit) {
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> tasks;
  for (const TrajectoryRows* trajectory : trajectories) {
    const LimitedTurns within = TurnsWithin(*trajectory, turn_limit);
    if (within.slots == 0) continue;
    std::pair<double, double>& task = tasks[{trajectory->definition, trajectory->workload}];
    const std::pair<double, double> own = BestPair(within);
    task = {std::max(task.first, own.first), std::max(task.second, own.second)};
  }
  UnitBests units;
  for (const auto& [task, best] : tasks) units.push_back(best);
  return StepsOf(units, turn_limit);
}

std::vector<v1::SpeedupByTurn> SpeedupsByTurn(const Trajectories& trajectories) {
  std::vector<RunningBests> runs;
  for (const TrajectoryRows* trajectory : trajectories) runs.emplace_back(*trajectory);
  std::vector<v1::SpeedupByTurn> turns;
  std::optional<double> best_so_far;
  for (const auto& [number, sample] : MeasuredByTurn(trajectories)) {
    v1::SpeedupByTurn& turn = turns.emplace_back();
    turn.set_turn(number);
    turn.set_measured(sample.size());
    if (!sample.empty()) {
      turn.set_best(*std::max_element(sample.begin(), sample.end()));
      best_so_far = std::max(best_so_far.value_or(0), turn.best());
    }
    if (best_so_far.has_value()) turn.set_best_so_far(*best_so_far);
    turn.set_median_best_so_far(MedianAt(runs, number));
  }
  return turns;
}

}  // namespace sassay::agent
