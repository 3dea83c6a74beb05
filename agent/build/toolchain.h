// Toolkit and cache as the settings name them.
#ifndef SASSAY_AGENT_BUILD_TOOLCHAIN_H_
#define SASSAY_AGENT_BUILD_TOOLCHAIN_H_

#include <filesystem>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "agent/config/settings.h"
#include "common/toolchain/toolchain.h"

namespace sassay::agent {

// The toolkit of the `cuda_home` and `cuda` settings, or the first one found.
absl::StatusOr<Toolchain> FindConfiguredToolchain(const Settings& settings);

// The `cache_dir` setting, $XDG_CACHE_HOME/sassay or ~/.cache/sassay; empty if there is no home either.
std::filesystem::path CacheFolder(const Settings& settings, const std::map<std::string, std::string>& environment);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BUILD_TOOLCHAIN_H_
