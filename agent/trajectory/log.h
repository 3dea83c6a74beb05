// The writing end of a trajectory's log: whatever moment the process dies at, what was paid for is on disk.
#ifndef SASSAY_AGENT_TRAJECTORY_LOG_H_
#define SASSAY_AGENT_TRAJECTORY_LOG_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/trajectory/trajectory.h"

namespace sassay::agent {

// Appends records to RUN/trajectories/exp_NNN/log.jsonl.
//
// What costs money or GPU time is durable when Append returns: an answer before anything is done with it, a submission
// before the service hears of it, verdicts, exclusions and ends. What follows from those (what is asked, extracted and
// fed back) is written in order, but not waited for: a process that is killed loses none of it, a machine that is
// switched off may, and it is made again.
// Life cycle: Open reads what is there and cuts a torn last line off. No file stays open between appends, so that
// hundreds of trajectories need no hundreds of descriptors. Threads: compatible. Failure: a record that could not be
// written whole is taken back; if not even that works, every later Append fails, so that nothing is written behind a
// torn line. DATA_LOSS from Open names file and line.
class TrajectoryLog {
 public:
  // `path` is LogPath of a folder that exists. `now` is the clock (absl::Now).
  static absl::StatusOr<std::unique_ptr<TrajectoryLog>> Open(const std::filesystem::path& path,
                                                             std::function<absl::Time()> now);

  // What the log held when it was opened; may be moved from.
  Trajectory& found() { return found_; }
  // Numbers the record, dates it, makes its texts UTF-8 and writes it.
  absl::Status Append(v1::TrajectoryRecord record);

 private:
  TrajectoryLog(std::filesystem::path path, std::function<absl::Time()> now)
      : path_(std::move(path)), now_(std::move(now)) {}
  absl::Status Write(const std::string& line, bool durably);

  const std::filesystem::path path_;
  const std::function<absl::Time()> now_;
  Trajectory found_;
  uint64_t bytes_ = 0;
  uint64_t sequence_ = 0;
  absl::Status broken_;
};

// Whether Append waits for the disk.
bool MustBeDurable(const v1::TrajectoryRecord& record);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_TRAJECTORY_LOG_H_
