#include "agent/build/toolchain.h"

#include "common/base/status_macros.h"
#include "common/toolchain/releases.h"

namespace sassay::agent {

absl::StatusOr<Toolchain> FindConfiguredToolchain(const Settings& settings) {
  ToolchainSearch search;
  search.cuda_home = settings.Text("cuda_home");
  if (const std::string& release = settings.Text("cuda"); !release.empty()) {
    ASSIGN_OR_RETURN(search.cuda_home, HomeOfRelease(release, search.cuda_home));
  }
  return FindToolchain(search);
}

std::filesystem::path CacheFolder(const Settings& settings, const std::map<std::string, std::string>& environment) {
  const std::string& setting = settings.Text("cache_dir");
  if (!setting.empty()) return setting;
  if (const auto xdg = environment.find("XDG_CACHE_HOME"); xdg != environment.end() && !xdg->second.empty()) {
    return std::filesystem::path(xdg->second) / "sassay";
  }
  const auto home = environment.find("HOME");
  return home == environment.end() ? std::filesystem::path() : std::filesystem::path(home->second) / ".cache/sassay";
}

}  // namespace sassay::agent
