// One log, read as far as it is whole.
#ifndef SASSAY_AGENT_TRAJECTORY_READ_LOG_H_
#define SASSAY_AGENT_TRAJECTORY_READ_LOG_H_

#include <cstdint>
#include <filesystem>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/trajectory/trajectory.h"

namespace sassay::agent {

// What a log holds.
struct LogContent {
  Trajectory trajectory;
  // Bytes up to the end of the last whole line; what follows is a torn line.
  uint64_t whole_bytes = 0;
};

// INVALID_ARGUMENT names the line that cannot be read.
absl::StatusOr<LogContent> ParseLog(absl::string_view untrusted_text);

// DATA_LOSS names file and line. A log that is missing or has no whole line is an empty trajectory with
// last_sequence 0: who wrote it was killed before it began.
absl::StatusOr<LogContent> ReadLog(const std::filesystem::path& path);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_TRAJECTORY_READ_LOG_H_
