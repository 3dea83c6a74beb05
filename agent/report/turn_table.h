// What scores are computed from: every source of turns, brought to one form.
#ifndef SASSAY_AGENT_REPORT_TURN_TABLE_H_
#define SASSAY_AGENT_REPORT_TURN_TABLE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sassay::agent {

// What became of a turn's candidate: the verdict's status, with CORRECT in two by the evidence.
enum class TurnOutcome : uint8_t {
  // Correct, and instructions of the architecture's family were seen executing.
  kCorrectWithTarget,
  // Correct; they were not, or nobody could look.
  kCorrectWithoutTarget,
  kIncorrectNumerical,
  kSanitizerError,
  kRuntimeError,
  kTimeout,
  kCompileError,
  kCaptureError,
  kRejected,
  kCheating,
  // The answer held no candidate.
  kNoCode,
  // A class of a published table that is none of these; counts as not correct.
  kOther,
  // Trouble of our own, or cancelled: counts nowhere.
  kInfrastructure,
};
inline constexpr int kTurnOutcomes = static_cast<int>(TurnOutcome::kInfrastructure) + 1;

// "CORRECT_WITH_TARGET", "NO_CODE", or the verdict's status.
absl::string_view OutcomeName(TurnOutcome outcome);

// Why a row counts nowhere.
enum class Excluded : uint8_t {
  kNo,
  // An attempt that was run again; another row counts in its place.
  kSuperseded,
  // The turn's last word: nothing counts in its place, so the denominator is one less.
  kLost,
};

// What a turn went through, in order.
enum class TurnStage : uint8_t {
  kGenerate,
  kCompile,
  kCapture,
  kQueue,
  kAdmission,
  kEvaluate,
  kSanitize,
  kEvidence,
  kTiming,
  kDiagnose,
};
inline constexpr int kTurnStages = static_cast<int>(TurnStage::kDiagnose) + 1;

// "generate", "compile", …
absl::string_view StageName(TurnStage stage);

// One turn, or an attempt at it that does not count. What a source does not say is absent.
struct TurnRow {
  // From 0.
  uint32_t number = 0;
  TurnOutcome outcome = TurnOutcome::kOther;
  Excluded excluded = Excluded::kNo;
  // The source's own word for what became of it: a verdict's code, a published class.
  std::string code;
  // One line.
  std::string reason;
  // Baseline over candidate; only of correct turns.
  std::optional<double> speedup;
  // Correct, but not to be scored as Verdict.scorable has it.
  bool unscorable = false;
  std::string rules;
  std::string device;
  std::optional<uint64_t> prompt_tokens, completion_tokens, reasoning_tokens, reasoning_bytes;
  bool tokens_estimated = false;
  std::optional<double> cost_usd;
  std::array<std::optional<double>, kTurnStages> stage_s;
  // Time that a device was held.
  std::optional<double> device_s;
  std::array<double, kTurnStages> stage_device_s = {};

  bool counts() const { return excluded == Excluded::kNo && outcome != TurnOutcome::kInfrastructure; }
  bool correct() const { return outcome <= TurnOutcome::kCorrectWithoutTarget; }
  bool with_target() const { return outcome == TurnOutcome::kCorrectWithTarget; }
};

// One trajectory with its turns.
struct TrajectoryRows {
  std::string model, label, language, arch, definition, workload, run, trajectory, prompt, context, knowledge, notes;
  // Most turns that it was allowed.
  uint32_t turn_limit = 0;
  // It will not go on.
  bool ended = false;
  // By number; of one number those that do not count first.
  std::vector<TurnRow> turns;
};

// All that was read.
struct TurnTable {
  // As they were named.
  std::vector<std::string> sources;
  std::vector<TrajectoryRows> trajectories;
  // What readers want people to know, one line each.
  std::vector<std::string> notes;
};

// Versions of the rules that judged turns which count. Turns that were decided before any rule was asked (no code, a
// compiler error) have none.
std::set<std::string> RulesOf(const TurnTable& table);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_TURN_TABLE_H_
