#include "agent/report/groups.h"

#include <algorithm>
#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/suggest.h"

namespace sassay::agent {
namespace {

struct Key {
  const char* name;
  std::function<std::string(const TrajectoryRows&)> value;
};

std::string OfTurns(const TrajectoryRows& trajectory, std::string TurnRow::*member) {
  std::string value;
  for (const TurnRow& turn : trajectory.turns) {
    const std::string& own = turn.*member;
    if (!turn.counts() || own.empty() || own == value) continue;
    if (!value.empty()) return "several";
    value = own;
  }
  return value;
}

const std::vector<Key>& Keys() {
  using Rows = const TrajectoryRows&;
  static const auto& keys = *new std::vector<Key>{
      {"model", [](Rows t) { return t.model; }},
      {"arch", [](Rows t) { return t.arch; }},
      {"definition", [](Rows t) { return t.definition; }},
      {"label", [](Rows t) { return t.label; }},
      {"language", [](Rows t) { return t.language; }},
      {"workload", [](Rows t) { return t.workload; }},
      {"prompt", [](Rows t) { return t.prompt; }},
      {"context", [](Rows t) { return t.context; }},
      {"knowledge", [](Rows t) { return t.knowledge; }},
      {"notes", [](Rows t) { return t.notes; }},
      {"run", [](Rows t) { return t.run; }},
      {"rules", [](Rows t) { return OfTurns(t, &TurnRow::rules); }},
      {"device", [](Rows t) { return OfTurns(t, &TurnRow::device); }},
  };
  return keys;
}

const Key* FindGroupKey(absl::string_view name) {
  for (const Key& key : Keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const Key& key : Keys()) names.push_back(key.name);
  return names;
}

bool IsAlwaysKept(absl::string_view name) {
  return std::find(std::begin(kGroupAlways), std::end(kGroupAlways), name) != std::end(kGroupAlways);
}

v1::ReportGroup GroupOf(const TrajectoryRows& trajectory, const std::vector<std::string>& keys) {
  v1::ReportGroup group;
  group.set_model(trajectory.model);
  group.set_arch(trajectory.arch);
  group.set_definition(trajectory.definition);
  for (const std::string& key : keys) {
    v1::ReportKey& own = *group.add_keys();
    own.set_name(key);
    own.set_value(KeyValue(trajectory, key));
  }
  return group;
}

std::vector<std::string> SortKeyOf(const v1::ReportGroup& group) {
  std::vector<std::string> key = {group.model(), group.arch(), group.definition()};
  for (const v1::ReportKey& own : group.keys()) key.push_back(own.value());
  return key;
}

}  // namespace

std::string GroupKeyNames() { return absl::StrJoin(Names(), ","); }

absl::StatusOr<std::vector<std::string>> ParseGroupBy(const std::vector<std::string>& names) {
  std::vector<std::string> keys;
  for (const std::string& name : names) {
    if (FindGroupKey(name) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("--group-by: \"", name, "\" is no key.", DidYouMean(name, Names()), " Keys: ", GroupKeyNames()));
    }
    if (!IsAlwaysKept(name) && std::find(keys.begin(), keys.end(), name) == keys.end()) keys.push_back(name);
  }
  return keys;
}

std::string KeyValue(const TrajectoryRows& trajectory, absl::string_view key) {
  const Key* found = FindGroupKey(key);
  return found == nullptr ? "" : found->value(trajectory);
}

std::vector<TurnGroup> MakeGroups(const TurnTable& table, const std::vector<std::string>& keys) {
  std::map<std::vector<std::string>, TurnGroup> groups;
  for (const TrajectoryRows& trajectory : table.trajectories) {
    v1::ReportGroup group = GroupOf(trajectory, keys);
    TurnGroup& own = groups[SortKeyOf(group)];
    own.keys = std::move(group);
    own.trajectories.push_back(&trajectory);
  }
  std::vector<TurnGroup> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  return sorted;
}

}  // namespace sassay::agent
