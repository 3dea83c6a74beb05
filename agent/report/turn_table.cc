#include "agent/report/turn_table.h"

namespace sassay::agent {

absl::string_view OutcomeName(TurnOutcome outcome) {
  static constexpr std::array<const char*, kTurnOutcomes> kNames = {"CORRECT_WITH_TARGET",
                                                                    "CORRECT_WITHOUT_TARGET",
                                                                    "INCORRECT_NUMERICAL",
                                                                    "SANITIZER_ERROR",
                                                                    "RUNTIME_ERROR",
                                                                    "TIMEOUT",
                                                                    "COMPILE_ERROR",
                                                                    "CAPTURE_ERROR",
                                                                    "REJECTED",
                                                                    "CHEATING",
                                                                    "NO_CODE",
                                                                    "OTHER",
                                                                    "INFRA_ERROR"};
  return kNames[static_cast<size_t>(outcome)];
}

absl::string_view StageName(TurnStage stage) {
  static constexpr std::array<const char*, kTurnStages> kNames = {
      "generate", "compile", "capture", "queue", "admission", "evaluate", "sanitize", "evidence", "timing", "diagnose"};
  return kNames[static_cast<size_t>(stage)];
}

std::set<std::string> RulesOf(const TurnTable& table) {
  std::set<std::string> rules;
  for (const TrajectoryRows& trajectory : table.trajectories) {
    for (const TurnRow& turn : trajectory.turns) {
      if (turn.counts() && !turn.rules.empty()) rules.insert(turn.rules);
    }
  }
  return rules;
}

}  // namespace sassay::agent
