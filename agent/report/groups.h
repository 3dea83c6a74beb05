// Which trajectories are counted together.
#ifndef SASSAY_AGENT_REPORT_GROUPS_H_
#define SASSAY_AGENT_REPORT_GROUPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/report/turn_table.h"
#include "sassay/v1/report.pb.h"

namespace sassay::agent {

// Model, arch and definition are always kept apart.
inline constexpr const char* kGroupAlways[] = {"model", "arch", "definition"};

// One group and its members, in the table's order. Points into the table.
struct TurnGroup {
  v1::ReportGroup keys;
  std::vector<const TrajectoryRows*> trajectories;
};

// Names that --group-by understands, "model,arch,…" for messages.
std::string GroupKeyNames();

// The keys besides those that are always kept, in the order given and once each; INVALID_ARGUMENT names one that is not
// known, and what comes near.
absl::StatusOr<std::vector<std::string>> ParseGroupBy(const std::vector<std::string>& names);

// A trajectory's value of a key; "several" where its turns differ.
std::string KeyValue(const TrajectoryRows& trajectory, absl::string_view key);

// By model, arch and definition in alphabetical order, then by the other keys.
std::vector<TurnGroup> MakeGroups(const TurnTable& table, const std::vector<std::string>& keys);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_GROUPS_H_
