// From what is named on a command line to turns.
#ifndef SASSAY_AGENT_REPORT_READ_SOURCES_H_
#define SASSAY_AGENT_REPORT_READ_SOURCES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/report/turn_table.h"

namespace sassay::agent {

// Reads every source: a run's folder, a folder of such folders, or a published table of turns; a table's trajectories
// were allowed `table_turn_limit` turns. Names are relative to `working_directory`. The same run or file twice counts
// once. Errors name the source; NOT_FOUND where there is nothing of the kind.
absl::StatusOr<TurnTable> ReadSources(const std::vector<std::string>& sources,
                                      const std::filesystem::path& working_directory, uint32_t table_turn_limit);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_REPORT_READ_SOURCES_H_
