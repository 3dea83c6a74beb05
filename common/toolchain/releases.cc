#include "common/toolchain/releases.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/toolchain/places.h"
#include "common/toolchain/toolchain.h"

namespace sassay {
namespace {

// "12.8.93" is of "12", "12.8" and "12.8.93".
bool IsOf(const std::string& version, const std::string& release) {
  return version == release || absl::StartsWith(version, release + ".");
}

}  // namespace

absl::StatusOr<std::string> HomeOfRelease(const std::string& release, const std::string& cuda_home) {
  std::vector<std::string> homes = {cuda_home};
  if (cuda_home.empty()) {
    homes = ToolkitRoots();
    for (const std::string& beside : GlobUpwards(".venv/cuda-*")) homes.push_back(beside);
  }
  std::vector<std::string> others;
  for (const std::string& home : homes) {
    const std::string ptxas = home + "/bin/ptxas";
    const absl::StatusOr<std::string> version =
        access(ptxas.c_str(), X_OK) == 0 ? ToolVersion(ptxas) : absl::NotFoundError("no ptxas");
    if (!version.ok()) continue;
    if (IsOf(*version, release)) return home;
    const std::string other = absl::StrCat(*version, " in ", home);
    if (std::find(others.begin(), others.end(), other) == others.end()) others.push_back(other);
  }
  return absl::NotFoundError(
      absl::StrCat("no CUDA ", release, cuda_home.empty() ? " on this machine" : absl::StrCat(" in ", cuda_home),
                   "; there is ", others.empty() ? "none at all" : absl::StrJoin(others, ", "),
                   ". Install it beside that as /usr/local/cuda-", release, ", or name its folder with --cuda-home"));
}

}  // namespace sassay
