#include "agent/trajectory/layout.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace sassay::agent {
namespace {

constexpr char kIdPrefix[] = "exp_";

}  // namespace

std::string TrajectoryId(size_t index) { return absl::StrCat(kIdPrefix, absl::Dec(index, absl::kZeroPad3)); }

bool IsTrajectoryId(absl::string_view name) {
  uint32_t index = 0;
  return absl::StartsWith(name, kIdPrefix) && absl::SimpleAtoi(name.substr(4), &index) && TrajectoryId(index) == name;
}

std::string TurnName(uint32_t turn) { return absl::StrCat("turn_", absl::Dec(turn, absl::kZeroPad2)); }

std::filesystem::path ManifestPath(const std::filesystem::path& run) { return run / "run.json"; }

std::filesystem::path PromptPath(const std::filesystem::path& run, absl::string_view sha256) {
  return run / "prompts" / absl::StrCat(sha256, ".txt");
}

std::filesystem::path TrajectoryPath(const std::filesystem::path& run, absl::string_view id) {
  return run / "trajectories" / std::string(id);
}

std::filesystem::path LogPath(const std::filesystem::path& run, absl::string_view id) {
  return TrajectoryPath(run, id) / "log.jsonl";
}

}  // namespace sassay::agent
