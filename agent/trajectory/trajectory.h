// A recorded run as data: what reports, data sets, exports and a resumed run read.
#ifndef SASSAY_AGENT_TRAJECTORY_TRAJECTORY_H_
#define SASSAY_AGENT_TRAJECTORY_TRAJECTORY_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/trajectory.pb.h"

namespace sassay::agent {

// One turn as far as it came. What is absent has not happened yet.
struct Turn {
  uint32_t number = 0;
  std::optional<v1::Asked> asked;
  std::optional<v1::Answered> answered;
  std::optional<v1::Extracted> extracted;
  std::optional<v1::Submitted> submitted;
  // Attempts that do not count, in order.
  std::vector<v1::AttemptExcluded> excluded;
  // Absent where the answer held no candidate.
  std::optional<v1::Judged> judged;
  std::optional<v1::FeedbackGiven> feedback;
};

// One trajectory: the fold of its log.
struct Trajectory {
  v1::TrajectoryBegan began;
  // Those that count, by number.
  std::vector<Turn> turns;
  // Turns that a late exclusion took back, oldest first; they count nowhere.
  std::vector<Turn> taken_back;
  std::optional<v1::TrajectoryEnded> ended;
  // Sequence number of the last record.
  uint64_t last_sequence = 0;
};

// One run.
struct Run {
  std::filesystem::path folder;
  v1::RunManifest manifest;
  // By trajectory id.
  std::vector<Trajectory> trajectories;
};

// Reads a run's folder, also while it is being written: a torn last line of a log is passed over. NOT_FOUND if it is no
// run; DATA_LOSS names the file and line of what cannot be read.
absl::StatusOr<Run> ReadRun(const std::filesystem::path& folder);

// A text of RUN/prompts. DATA_LOSS if it does not hash to its name.
absl::StatusOr<std::string> ReadPrompt(const std::filesystem::path& run_folder, absl::string_view sha256);

// The candidate's source of a turn; NOT_FOUND where there was none.
absl::StatusOr<std::string> ReadSource(const std::filesystem::path& run_folder, const Trajectory& trajectory,
                                       const Turn& turn);

// Whether the turn is judged CORRECT and not excluded.
bool IsCorrect(const Turn& turn);

// Whether it may also be scored as Verdict.scorable has it: sanitized, VERIFIED, strict capture, fresh seeds.
bool IsScorable(const Turn& turn);

// The turn's measured speed-up over the baseline; nothing where it is not correct or was not timed.
std::optional<double> SpeedupOf(const Turn& turn);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_TRAJECTORY_TRAJECTORY_H_
