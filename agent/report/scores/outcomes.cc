#include "agent/report/scores/outcomes.h"

#include <array>
#include <map>
#include <numeric>
#include <string>

#include "agent/report/scores/counting.h"

namespace sassay::agent {
namespace {

using Counts = std::array<uint32_t, kTurnOutcomes>;

uint32_t Sum(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), 0u); }

std::string Name(size_t outcome) { return std::string(OutcomeName(static_cast<TurnOutcome>(outcome))); }

}  // namespace

std::vector<v1::OutcomeCount> OutcomesByTurn(const Trajectories& trajectories) {
  std::map<uint32_t, Counts> by_turn;
  for (const TrajectoryRows* trajectory : trajectories) {
    for (const TurnRow* turn : CountedTurns(*trajectory)) ++by_turn[turn->number][static_cast<size_t>(turn->outcome)];
  }
  std::vector<v1::OutcomeCount> outcomes;
  for (const auto& [turn, counts] : by_turn) {
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      v1::OutcomeCount& outcome = outcomes.emplace_back();
      outcome.set_turn(turn);
      outcome.set_outcome(Name(i));
      outcome.set_count(counts[i]);
      outcome.set_share(static_cast<double>(counts[i]) / Sum(counts));
    }
  }
  return outcomes;
}

std::vector<v1::OutcomeTransition> Transitions(const Trajectories& trajectories) {
  std::array<Counts, kTurnOutcomes> matrix = {};
  for (const TrajectoryRows* trajectory : trajectories) {
    const std::vector<const TurnRow*> turns = CountedTurns(*trajectory);
    for (size_t i = 1; i < turns.size(); ++i) {
      if (turns[i]->number != turns[i - 1]->number + 1) continue;
      ++matrix[static_cast<size_t>(turns[i - 1]->outcome)][static_cast<size_t>(turns[i]->outcome)];
    }
  }
  std::vector<v1::OutcomeTransition> transitions;
  for (size_t from = 0; from < matrix.size(); ++from) {
    for (size_t to = 0; to < matrix.size(); ++to) {
      if (matrix[from][to] == 0) continue;
      v1::OutcomeTransition& transition = transitions.emplace_back();
      transition.set_from(Name(from));
      transition.set_to(Name(to));
      transition.set_count(matrix[from][to]);
      transition.set_share(static_cast<double>(matrix[from][to]) / Sum(matrix[from]));
    }
  }
  return transitions;
}

}  // namespace sassay::agent
