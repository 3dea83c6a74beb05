#include <algorithm>
#include <cmath>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "agent/trajectory/layout.h"
#include "agent/trajectory/read_log.h"
#include "agent/trajectory/read_manifest.h"
#include "agent/trajectory/trajectory.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

// By number.
absl::StatusOr<std::vector<std::string>> TrajectoryIds(const fs::path& folder) {
  std::vector<std::string> ids;
  std::error_code error;
  for (fs::directory_iterator entry(folder / "trajectories", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_folder = fs::is_directory(entry->symlink_status(error));
    if (is_folder && IsTrajectoryId(name)) ids.push_back(name);
    if (ids.size() > kMaxTrajectories)
      return absl::DataLossError(absl::StrCat(folder.string(), " has more than ", kMaxTrajectories, " trajectories"));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return absl::DataLossError(absl::StrCat((folder / "trajectories").string(), ": ", error.message()));
  std::sort(ids.begin(), ids.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return ids;
}

// A text that is kept under, or together with, its digest.
absl::StatusOr<std::string> ReadHashed(const fs::path& path, absl::string_view sha256, uint64_t limit_bytes) {
  absl::StatusOr<std::string> text = ReadUntrustedFile(path, limit_bytes);
  if (!text.ok()) return absl::DataLossError(text.status().message());
  if (Sha256Hex(*text) == sha256) return text;
  return absl::DataLossError(absl::StrCat(path.string(), " does not hash to ", sha256, "; somebody changed it."));
}

}  // namespace

absl::StatusOr<Run> ReadRun(const fs::path& folder) {
  Run run;
  run.folder = folder;
  ASSIGN_OR_RETURN(run.manifest, ReadManifest(folder));
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, TrajectoryIds(folder));
  for (const std::string& id : ids) {
    ASSIGN_OR_RETURN(LogContent content, ReadLog(LogPath(folder, id)));
    if (content.trajectory.last_sequence == 0) continue;
    if (content.trajectory.began.trajectory_id() != id) {
      return absl::DataLossError(absl::StrCat(LogPath(folder, id).string(), " is the log of ",
                                              content.trajectory.began.trajectory_id(), ", not of ", id));
    }
    run.trajectories.push_back(std::move(content.trajectory));
  }
  return run;
}

absl::StatusOr<std::string> ReadPrompt(const fs::path& run_folder, absl::string_view sha256) {
  if (!IsSha256Hex(sha256)) return absl::DataLossError(absl::StrCat("\"", sha256, "\" is no SHA-256 of a prompt"));
  return ReadHashed(PromptPath(run_folder, sha256), sha256, kMaxPromptBytes);
}

absl::StatusOr<std::string> ReadSource(const fs::path& run_folder, const Trajectory& trajectory, const Turn& turn) {
  if (!turn.extracted.has_value() || turn.extracted->path().empty()) {
    return absl::NotFoundError(
        absl::StrCat("turn ", turn.number, " of ", trajectory.began.trajectory_id(), " holds no candidate"));
  }
  const std::string& name = turn.extracted->path();
  if (!IsPlainFileName(name) || !IsTrajectoryId(trajectory.began.trajectory_id()))
    return absl::DataLossError(absl::StrCat("\"", name, "\" is no plain file name"));
  const fs::path path = TrajectoryPath(run_folder, trajectory.began.trajectory_id()) / TurnName(turn.number) / name;
  return ReadHashed(path, turn.extracted->source_sha256(), kMaxSourceBytes);
}

bool IsCorrect(const Turn& turn) {
  return turn.judged.has_value() && turn.judged->verdict().status() == v1::VERDICT_STATUS_CORRECT &&
         !turn.judged->verdict().has_excluded();
}

bool IsScorable(const Turn& turn) { return IsCorrect(turn) && turn.judged->verdict().scorable(); }

std::optional<double> SpeedupOf(const Turn& turn) {
  if (!IsCorrect(turn)) return std::nullopt;
  const v1::Timing& timing = turn.judged->verdict().timing();
  const bool measured = timing.status() == v1::Timing::MEASURED || timing.status() == v1::Timing::PROVISIONAL;
  if (!measured || !(timing.speedup() > 0) || !std::isfinite(timing.speedup())) return std::nullopt;
  return timing.speedup();
}

}  // namespace sassay::agent
