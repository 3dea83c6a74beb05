// Where things lie in a run's folder; proto/sassay/v1/trajectory.proto has the picture.
#ifndef SASSAY_AGENT_TRAJECTORY_LAYOUT_H_
#define SASSAY_AGENT_TRAJECTORY_LAYOUT_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/string_view.h"

namespace sassay::agent {

// What a reader accepts; larger is DATA_LOSS. A log takes no line that would make it so.
inline constexpr uint64_t kMaxManifestBytes = 16 << 20;
inline constexpr uint64_t kMaxPromptBytes = 16 << 20;
inline constexpr uint64_t kMaxSourceBytes = 16 << 20;
inline constexpr uint64_t kMaxLogBytes = uint64_t{1} << 30;
// An answer of 16 MiB, of which JSON may spell each byte with six.
inline constexpr uint64_t kMaxLineBytes = 112 << 20;
inline constexpr size_t kMaxTrajectories = 100'000;

// "exp_007"
std::string TrajectoryId(size_t index);
// Whether `name` is such an id, as TrajectoryId spells it.
bool IsTrajectoryId(absl::string_view name);
// "turn_03"
std::string TurnName(uint32_t turn);

std::filesystem::path ManifestPath(const std::filesystem::path& run);
std::filesystem::path PromptPath(const std::filesystem::path& run, absl::string_view sha256);
std::filesystem::path TrajectoryPath(const std::filesystem::path& run, absl::string_view id);
std::filesystem::path LogPath(const std::filesystem::path& run, absl::string_view id);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_TRAJECTORY_LAYOUT_H_
