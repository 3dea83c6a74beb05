#include "agent/report/make_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/report/groups.h"
#include "agent/report/scores/costs.h"
#include "agent/report/scores/counting.h"
#include "agent/report/scores/outcomes.h"
#include "agent/report/scores/turn_scores.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

// Conditions that a group may hold several of without anybody having said so.
constexpr const char* kPooledKeys[] = {"label", "language", "context", "knowledge", "notes", "device", "rules"};

absl::Status CheckRules(const std::set<std::string>& rules, const ReportOptions& options) {
  if (rules.size() < 2 || options.mix_rules) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "these turns were judged by different versions of the rules: ", absl::StrJoin(rules, ", "),
      ". Their scores do not compare; report them apart, or say --mix (and --group-by rules to tell them apart)."));
}

template <typename Message>
void Move(std::vector<Message> from, google::protobuf::RepeatedPtrField<Message>& to) {
  for (Message& message : from) *to.Add() = std::move(message);
}

void CountTurns(const Trajectories& trajectories, v1::GroupReport& report) {
  for (const TrajectoryRows* trajectory : trajectories) {
    const size_t counted = CountedTurns(*trajectory).size();
    report.set_turns(report.turns() + counted);
    report.set_excluded(report.excluded() + trajectory->turns.size() - counted);
    report.set_unfinished(report.unfinished() + !trajectory->ended);
  }
}

v1::GroupReport ReportOf(const TurnGroup& group, const ReportOptions& options) {
  v1::GroupReport report;
  const Trajectories& trajectories = group.trajectories;
  *report.mutable_group() = group.keys;
  report.set_trajectories(trajectories.size());
  CountTurns(trajectories, report);
  for (const uint32_t limit : options.turn_limits) {
    *report.add_scores() = ScoreAt(trajectories, limit);
    *report.add_fast_p() = FastPOfTrajectories(trajectories, limit);
  }
  Move(Transitions(trajectories), *report.mutable_transitions());
  Move(OutcomesByTurn(trajectories), *report.mutable_outcomes());
  Move(SpeedupsByTurn(trajectories), *report.mutable_speedups());
  Move(ReasoningByTurn(trajectories), *report.mutable_reasoning());
  Move(StageTimes(trajectories), *report.mutable_stages());
  *report.mutable_cost() = CostOf(trajectories);
  return report;
}

// Groups that differ in their definition alone are one condition.
void AddTasks(const std::vector<TurnGroup>& groups, const ReportOptions& options, v1::Report& report) {
  std::map<std::string, TurnGroup> conditions;
  std::vector<std::string> order;
  for (const TurnGroup& group : groups) {
    v1::ReportGroup keys = group.keys;
    keys.clear_definition();
    const auto [found, is_new] = conditions.emplace(keys.SerializeAsString(), TurnGroup{keys, {}});
    if (is_new) order.push_back(found->first);
    Trajectories& all = found->second.trajectories;
    all.insert(all.end(), group.trajectories.begin(), group.trajectories.end());
  }
  for (const std::string& key : order) {
    v1::TaskFastP& tasks = *report.add_tasks();
    *tasks.mutable_condition() = conditions[key].keys;
    for (const uint32_t limit : options.turn_limits)
      *tasks.add_fast_p() = FastPOfTasks(conditions[key].trajectories, limit);
  }
}

std::string Quoted(const std::string& value) { return value.empty() ? "(none)" : absl::StrCat("\"", value, "\""); }

void NotePooled(const std::vector<TurnGroup>& groups, v1::Report& report) {
  for (const char* key : kPooledKeys) {
    std::set<std::string> pooled;
    for (const TurnGroup& group : groups) {
      std::set<std::string> values;
      for (const TrajectoryRows* trajectory : group.trajectories) values.insert(Quoted(KeyValue(*trajectory, key)));
      // A device or rules version that no turn of a trajectory came far enough to name is no condition of its own.
      if (key == absl::string_view("device") || key == absl::string_view("rules")) values.erase(Quoted(""));
      if (values.size() > 1) pooled.insert(values.begin(), values.end());
    }
    if (pooled.empty()) continue;
    report.add_notes(absl::StrCat("Counted together: ", key, " ", absl::StrJoin(pooled, ", "), ". --group-by ", key,
                                  " keeps them apart."));
  }
}

// An emulator says whether a kernel is right, and nothing about a GPU's time.
void NoteEmulated(const TurnTable& table, v1::Report& report) {
  std::set<std::string> emulated;
  for (const TrajectoryRows& trajectory : table.trajectories) {
    for (const TurnRow* turn : CountedTurns(trajectory)) {
      if (absl::StartsWith(turn->device, "emulated")) emulated.insert(turn->device);
    }
  }
  if (emulated.empty()) return;
  report.add_notes(absl::StrCat("Judged on an emulated device (", absl::StrJoin(emulated, ", "),
                                "): nothing is timed there, and device time is the emulator's."));
}

void NoteCounts(const TurnTable& table, v1::Report& report) {
  size_t unscorable = 0, untimed = 0, not_made = 0, unfinished = 0;
  for (const TrajectoryRows& trajectory : table.trajectories) {
    for (const TurnRow* turn : CountedTurns(trajectory)) {
      unscorable += turn->unscorable;
      untimed += turn->correct() && !turn->speedup.has_value();
    }
    unfinished += !trajectory.ended;
  }
  for (const v1::GroupReport& group : report.groups()) {
    if (!group.scores().empty()) not_made += group.scores().rbegin()->turns_not_made();
  }
  const auto note = [&](absl::string_view what, size_t count, absl::string_view consequence) {
    if (count > 0) report.add_notes(absl::StrCat(what, ": ", count, "; ", consequence, "."));
  };
  note("Attempts excluded or ended with trouble of our own", report.excluded(), "they count nowhere but in the costs");
  note("Trajectories that have not ended", unfinished, "each counts at the turn limits that it has reached");
  note("Turns of the largest turn limit not made, as their trajectory had ended", not_made,
       "they count as not correct");
  note("Correct turns that may not be scored (Verdict.scorable)", unscorable, "they count as correct here");
  note("Correct turns without speed-up", untimed, "they count as correct, and in no speed-up");
}

}  // namespace

absl::StatusOr<v1::Report> MakeReport(const TurnTable& table, const ReportOptions& options) {
  const std::set<std::string> rules = RulesOf(table);
  RETURN_IF_ERROR(CheckRules(rules, options));
  v1::Report report;
  for (const std::string& source : table.sources) report.add_sources(source);
  for (const std::string& version : rules) report.add_rules(version);
  for (const uint32_t limit : options.turn_limits) report.add_turn_limits(limit);
  const std::vector<TurnGroup> groups = MakeGroups(table, options.group_by);
  for (const TurnGroup& group : groups) {
    const v1::GroupReport& own = *report.add_groups() = ReportOf(group, options);
    report.set_trajectories(report.trajectories() + own.trajectories());
    report.set_turns(report.turns() + own.turns());
    report.set_excluded(report.excluded() + own.excluded());
  }
  AddTasks(groups, options, report);
  for (const std::string& note : table.notes) report.add_notes(note);
  NotePooled(groups, report);
  NoteEmulated(table, report);
  NoteCounts(table, report);
  return report;
}

}  // namespace sassay::agent
