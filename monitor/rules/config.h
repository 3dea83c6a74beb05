// The monitor's rules as data: read, checked, and the ones that come with the program.
//
// Why: which number means trouble is an operator's knowledge, and changes with GPUs and drivers; a rule that is
// misspelled must be refused with the line, never be silently without effect.
#ifndef SASSAY_MONITOR_RULES_CONFIG_H_
#define SASSAY_MONITOR_RULES_CONFIG_H_

#include <filesystem>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/monitor.pb.h"

namespace sassay::monitor {

// Reads protobuf text format (proto/sassay/v1/monitor.proto; '#' begins a comment) and checks it. INVALID_ARGUMENT says
// "FILE:LINE: rule NAME: FIELD: what was expected"; `file` is used for nothing else. Policies that the text leaves out
// are those of the default; rules are only those of the text.
absl::StatusOr<v1::MonitorConfig> ParseConfig(absl::string_view text, absl::string_view file);

// The same for a file.
absl::StatusOr<v1::MonitorConfig> LoadConfig(const std::filesystem::path& path);

// deploy/monitor/rules.textproto as it was when the program was built: its text, and read.
absl::string_view DefaultConfigText();
const v1::MonitorConfig& DefaultConfig();

// The first thing that is wrong in one rule or policy: "FIELD: what was expected". Pure; ParseConfig adds the place.
absl::Status CheckRule(const v1::Rule& rule);
absl::Status CheckPolicies(const v1::MonitorConfig& config);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_RULES_CONFIG_H_
