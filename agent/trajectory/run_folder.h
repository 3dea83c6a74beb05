// A run's folder for the one process that works on it.
#ifndef SASSAY_AGENT_TRAJECTORY_RUN_FOLDER_H_
#define SASSAY_AGENT_TRAJECTORY_RUN_FOLDER_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/trajectory/log.h"
#include "common/base/fd.h"
#include "sassay/v1/trajectory.pb.h"

namespace sassay::agent {

// Holds the folder alone: two processes that append to one log would make it unreadable, and pay for every turn twice.
//
// Life cycle: Create or Open; the lock goes with the object, and with the process however it ends. Readers need no
// lock. Threads: safe for different trajectories. Failure: FAILED_PRECONDITION if another process holds the folder or,
// for Create, if it holds a run already; NOT_FOUND from Open if it holds none.
class RunFolder {
 public:
  // Makes the folder and writes run.json.
  static absl::StatusOr<std::unique_ptr<RunFolder>> Create(const std::filesystem::path& path,
                                                           const v1::RunManifest& manifest);
  static absl::StatusOr<std::unique_ptr<RunFolder>> Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const v1::RunManifest& manifest() const { return manifest_; }

  // Keeps a text that many turns share, durably; returns its SHA-256.
  absl::StatusOr<std::string> WritePrompt(absl::string_view text);
  // Opens a trajectory's log; makes its folder.
  absl::StatusOr<std::unique_ptr<TrajectoryLog>> OpenLog(absl::string_view id, std::function<absl::Time()> now);
  // Keeps a candidate as turn_NN/`name`, a plain name that we choose.
  absl::Status WriteSource(absl::string_view id, uint32_t turn, absl::string_view name, absl::string_view code);

 private:
  RunFolder(std::filesystem::path path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  static absl::StatusOr<std::unique_ptr<RunFolder>> Lock(const std::filesystem::path& path);

  const std::filesystem::path path_;
  const UniqueFd lock_;
  v1::RunManifest manifest_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_TRAJECTORY_RUN_FOLDER_H_
