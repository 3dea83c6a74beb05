// A recorded or written trace as a source, so that a bad night can be played again.
#ifndef SASSAY_MONITOR_SOURCES_REPLAY_SOURCE_H_
#define SASSAY_MONITOR_SOURCES_REPLAY_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "monitor/sources/source.h"

namespace sassay::monitor {

// One sample a line: SECONDS GPU SIGNAL VALUE [TEXT…]. SECONDS since the trace began, "-" for no GPU, "#" begins a
// comment; lines are in order of time. INVALID_ARGUMENT names the line. Times are UnixEpoch + SECONDS.
absl::StatusOr<std::vector<Sample>> ParseTrace(absl::string_view text);

// The other direction; samples of ParseTrace come out as they were.
std::string TraceLine(const Sample& sample, absl::Time begin);

// A source named `name` that gives each sample of `trace` when its time has come, counted from the first reading, and
// nothing more after the last.
std::unique_ptr<Source> MakeReplaySource(std::string name, std::vector<Sample> trace);

}  // namespace sassay::monitor

#endif  // SASSAY_MONITOR_SOURCES_REPLAY_SOURCE_H_
