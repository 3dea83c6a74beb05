#include "agent/report/read/sources.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "agent/report/read/published_turns.h"
#include "agent/report/read/runs.h"
#include "agent/trajectory/trajectory.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

constexpr char kExpected[] = "Name a folder that `mini-ptx-agent run -o` wrote, or a table of turns.";
constexpr uint64_t kMaxTableBytes = uint64_t{256} << 20;

bool IsRun(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "run.json", ignored);
}

absl::StatusOr<std::vector<fs::path>> RunsIn(const fs::path& folder) {
  if (IsRun(folder)) return std::vector<fs::path>{folder};
  std::vector<fs::path> runs;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (IsRun(entry->path())) runs.push_back(entry->path());
  }
  if (error) return absl::UnavailableError(absl::StrCat(folder.string(), " cannot be listed: ", error.message()));
  std::sort(runs.begin(), runs.end());
  if (!runs.empty()) return runs;
  return absl::NotFoundError(
      absl::StrCat(folder.string(), " is no run: it has no run.json, nor has any folder in it. ", kExpected));
}

class SourceReader {
 public:
  SourceReader(fs::path working_directory, uint32_t table_turn_limit)
      : working_directory_(std::move(working_directory)), table_turn_limit_(table_turn_limit) {}

  absl::Status Read(const std::string& source) {
    std::error_code error;
    const fs::path path = working_directory_ / source;
    if (fs::is_directory(path, error)) return ReadRuns(path, source);
    if (!fs::exists(path, error)) return absl::NotFoundError(absl::StrCat("there is no ", source, ". ", kExpected));
    if (!IsNew(path)) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxTableBytes));
    return ReadPublishedTurns(text, source, table_turn_limit_, table);
  }

  TurnTable table;

 private:
  absl::Status ReadRuns(const fs::path& path, const fs::path& named) {
    ASSIGN_OR_RETURN(const std::vector<fs::path> folders, RunsIn(path));
    for (const fs::path& folder : folders) {
      if (!IsNew(folder)) continue;
      ASSIGN_OR_RETURN(const Run run, ReadRun(folder));
      AddRun(run, folder == path ? named.string() : (named / folder.filename()).string(), table);
    }
    return absl::OkStatus();
  }

  bool IsNew(const fs::path& path) {
    std::error_code error;
    const fs::path canonical = fs::weakly_canonical(path, error);
    if (seen_.insert(error ? path : canonical).second) return true;
    table.notes.push_back(absl::StrCat(path.string(), " is named more than once and counts once."));
    return false;
  }

  const fs::path working_directory_;
  const uint32_t table_turn_limit_;
  std::set<fs::path> seen_;
};

}  // namespace

absl::StatusOr<TurnTable> ReadSources(const std::vector<std::string>& sources, const fs::path& working_directory,
                                      uint32_t table_turn_limit) {
  SourceReader reader(working_directory, table_turn_limit);
  for (const std::string& source : sources) RETURN_IF_ERROR(reader.Read(source));
  return std::move(reader.table);
}

}  // namespace sassay::agent
