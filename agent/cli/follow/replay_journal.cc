#include "agent/cli/follow/replay_journal.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

fs::path JournalFolder(const std::map<std::string, std::string>& environment) {
  const auto lookup = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  if (const std::string state = lookup("XDG_STATE_HOME"); !state.empty()) return fs::path(state) / "sassay/replays";
  const std::string home = lookup("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".local/state/sassay/replays";
}

}  // namespace

bool IsJournalName(const std::string& id) {
  const auto allowed = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  };
  return !id.empty() && id.size() <= 128 && id.front() != '.' && std::all_of(id.begin(), id.end(), allowed);
}

void RememberReplay(const std::map<std::string, std::string>& environment, const v1::Verdict& verdict) {
  const fs::path folder = JournalFolder(environment);
  if (folder.empty() || !IsJournalName(verdict.replay_id())) return;
  const nlohmann::json record = {{"bundle_sha256", verdict.bundle_sha256()}, {"workload", verdict.workload()}};
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  WriteFileAtomically(folder / verdict.replay_id(),
                      record.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))
      .IgnoreError();
}

absl::StatusOr<ReplayRecord> FindReplay(const std::map<std::string, std::string>& environment,
                                        const std::string& replay_id) {
  const fs::path folder = JournalFolder(environment);
  if (folder.empty() || !IsJournalName(replay_id))
    return absl::NotFoundError(absl::StrCat("no replay \"", replay_id, "\" is known on this machine."));
  ASSIGN_OR_RETURN(const std::string text, ReadFile(folder / replay_id, 1 << 20));
  const nlohmann::json record = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto field = [&](const char* name) {
    return record.is_object() && record.contains(name) && record[name].is_string() ? record[name].get<std::string>()
                                                                                   : std::string();
  };
  return ReplayRecord{replay_id, field("bundle_sha256"), field("workload")};
}

}  // namespace sassay::agent
