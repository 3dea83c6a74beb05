#include "agent/report/read/published_turns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/report/read/csv.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

constexpr uint32_t kMaxTurns = 10'000;
constexpr size_t kMaxNotedClasses = 20;

enum Column { kModel, kArch, kDefinition, kWorkload, kTrajectory, kTurn, kCorrectness, kSpeedup, kWithArch, kRequired };
constexpr std::array<const char*, kRequired> kColumns = {
    "model", "arch", "definition", "workload", "trajectory_id", "turn", "correctness", "speedup", "correct_with_arch"};
constexpr std::array<const char*, 3> kOptionalColumns = {"label", "language", "prompt"};

// What the benchmark's export calls a turn. Trouble of its service is not told apart there and counts like the rest.
std::optional<TurnOutcome> OutcomeOf(absl::string_view correctness) {
  static const auto& classes = *new std::map<absl::string_view, TurnOutcome>{
      {"Numerical error", TurnOutcome::kIncorrectNumerical}, {"Kernel Execution Timeout", TurnOutcome::kTimeout},
      {"Sanitize Timeout", TurnOutcome::kTimeout},           {"Compilation error", TurnOutcome::kCompileError},
      {"Runtime error", TurnOutcome::kRuntimeError},         {"Extraction error", TurnOutcome::kNoCode},
      {"Profiling Service Timeout", TurnOutcome::kOther},    {"Other error", TurnOutcome::kOther}};
  const auto found = classes.find(correctness);
  if (found == classes.end()) return std::nullopt;
  return found->second;
}

class PublishedReader {
 public:
  PublishedReader(uint32_t turn_limit, TurnTable& table) : turn_limit_(turn_limit), table_(table) {}

  absl::Status Take(const CsvRow& row) { return columns_.empty() ? TakeHeader(row) : TakeTurn(row); }

  absl::Status Finish(absl::string_view name) {
    if (columns_.empty())
      return CsvError(1, 1, absl::StrCat("the table is empty; expected a header with ", Expected()));
    for (auto& [keys, trajectory] : trajectories_) {
      std::sort(trajectory.turns.begin(), trajectory.turns.end(),
                [](const TurnRow& a, const TurnRow& b) { return a.number < b.number; });
      trajectory.turn_limit = std::max(turn_limit_, longest_);
      table_.trajectories.push_back(std::move(trajectory));
    }
    for (const auto& [word, count] : unknown_)
      table_.notes.push_back(absl::StrCat(name, ": turns of a class that is not known, \"", word, "\": ", count,
                                          "; they count as not correct (OTHER)."));
    return absl::OkStatus();
  }

 private:
  static std::string Expected() { return absl::StrCat("the columns ", absl::StrJoin(kColumns, ", ")); }

  absl::Status TakeHeader(const CsvRow& row) {
    std::map<std::string, size_t> names;
    for (size_t i = 0; i < row.size(); ++i) {
      if (!names.emplace(row[i].text, i).second)
        return CsvError(row[i], absl::StrCat("column \"", row[i].text, "\" is there twice"));
    }
    for (const char* column : kColumns) {
      const auto found = names.find(column);
      if (found == names.end())
        return CsvError(row[0], absl::StrCat("column \"", column, "\" is missing; expected ", Expected()));
      columns_.push_back(found->second);
    }
    for (const char* column : kOptionalColumns) {
      const auto found = names.find(column);
      optional_.push_back(found == names.end() ? std::nullopt : std::optional<size_t>(found->second));
    }
    return absl::OkStatus();
  }

  absl::Status TakeTurn(const CsvRow& row) {
    TurnRow turn;
    turn.rules = kPublishedRules;
    RETURN_IF_ERROR(ReadNumber(row[columns_[kTurn]], turn));
    RETURN_IF_ERROR(ReadOutcome(row[columns_[kCorrectness]], row[columns_[kWithArch]], turn));
    RETURN_IF_ERROR(ReadSpeedup(row[columns_[kSpeedup]], turn));
    const size_t index = TrajectoryOf(row);
    TrajectoryRows& trajectory = trajectories_[index].second;
    if (!turns_.emplace(index, turn.number).second) {
      return CsvError(row[columns_[kTurn]],
                      absl::StrCat("turn ", turn.number, " of ", trajectory.trajectory, " (", trajectory.model, ", ",
                                   trajectory.definition, ") is there twice"));
    }
    longest_ = std::max(longest_, turn.number + 1);
    trajectory.turns.push_back(std::move(turn));
    return absl::OkStatus();
  }

  static absl::Status ReadNumber(const CsvField& field, TurnRow& turn) {
    const bool digits = !field.text.empty() && std::all_of(field.text.begin(), field.text.end(), absl::ascii_isdigit);
    if (digits && absl::SimpleAtoi(field.text, &turn.number) && turn.number < kMaxTurns) return absl::OkStatus();
    return CsvError(
        field, absl::StrCat("turn: expected a whole number from 0 to ", kMaxTurns - 1, ", not \"", field.text, "\""));
  }

  absl::Status ReadOutcome(const CsvField& correctness, const CsvField& with_arch, TurnRow& turn) {
    const bool with_target = with_arch.text == "1";
    if (!with_target && with_arch.text != "0")
      return CsvError(with_arch, absl::StrCat("correct_with_arch: expected 0 or 1, not \"", with_arch.text, "\""));
    turn.code = correctness.text;
    if (correctness.text == "Correct") {
      turn.outcome = with_target ? TurnOutcome::kCorrectWithTarget : TurnOutcome::kCorrectWithoutTarget;
      return absl::OkStatus();
    }
    if (correctness.text.empty()) return CsvError(correctness, "correctness: expected a class such as Correct");
    if (with_target)
      return CsvError(with_arch, absl::StrCat("correct_with_arch is 1, but correctness is \"", correctness.text, "\""));
    const std::optional<TurnOutcome> outcome = OutcomeOf(correctness.text);
    if (!outcome.has_value() && (unknown_.size() < kMaxNotedClasses || unknown_.count(correctness.text) != 0))
      ++unknown_[correctness.text];
    turn.outcome = outcome.value_or(TurnOutcome::kOther);
    return absl::OkStatus();
  }

  // 0 or nothing: not timed.
  static absl::Status ReadSpeedup(const CsvField& field, TurnRow& turn) {
    double speedup = 0;
    const bool number = field.text.empty() || absl::SimpleAtod(field.text, &speedup);
    if (!number || !std::isfinite(speedup) || speedup < 0)
      return CsvError(field, absl::StrCat("speedup: expected a ratio of at least 0, not \"", field.text, "\""));
    if (turn.correct() && speedup > 0) turn.speedup = speedup;
    return absl::OkStatus();
  }

  std::string Optional(const CsvRow& row, size_t index) const {
    return optional_[index].has_value() ? row[*optional_[index]].text : "";
  }

  size_t TrajectoryOf(const CsvRow& row) {
    std::vector<std::string> keys;
    for (Column column : {kModel, kArch, kDefinition, kWorkload, kTrajectory})
      keys.push_back(row[columns_[column]].text);
    for (size_t i = 0; i < kOptionalColumns.size(); ++i) keys.push_back(Optional(row, i));
    const auto [found, is_new] = index_.emplace(keys, trajectories_.size());
    if (is_new) {
      TrajectoryRows rows;
      rows.model = keys[0], rows.arch = keys[1], rows.definition = keys[2], rows.workload = keys[3];
      rows.trajectory = keys[4], rows.label = keys[5], rows.language = keys[6], rows.prompt = keys[7];
      rows.ended = true;
      trajectories_.emplace_back(keys, std::move(rows));
    }
    return found->second;
  }

  const uint32_t turn_limit_;
  TurnTable& table_;
  std::vector<size_t> columns_;
  std::vector<std::optional<size_t>> optional_;
  // In the order of their first turn.
  std::vector<std::pair<std::vector<std::string>, TrajectoryRows>> trajectories_;
  std::map<std::vector<std::string>, size_t> index_;
  std::set<std::pair<size_t, uint32_t>> turns_;
  std::map<std::string, size_t> unknown_;
  uint32_t longest_ = 0;
};

}  // namespace

absl::Status ReadPublishedTurns(absl::string_view untrusted_text, absl::string_view name, uint32_t turn_limit,
                                TurnTable& table) {
  PublishedReader reader(turn_limit, table);
  absl::Status status = ReadCsv(untrusted_text, {}, [&](const CsvRow& row) { return reader.Take(row); });
  if (status.ok()) status = reader.Finish(name);
  if (status.ok()) table.sources.push_back(std::string(name));
  return status.ok() ? status : absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
}

}  // namespace sassay::agent
