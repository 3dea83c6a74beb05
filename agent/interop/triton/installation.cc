#include "agent/interop/triton/installation.h"

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/toolchain/places.h"

namespace sassay::agent {
namespace {

namespace fs = std::filesystem;

constexpr char kRemedy[] =
    "bash deploy/install_triton.sh installs it from PyPI into .venv/triton of the source tree (about 1.1 GB), which is "
    "looked for here, above, and above this program; SASSAY_TRITON_VENV names it elsewhere";

std::vector<std::string> Environments(const std::string& environment) {
  if (!environment.empty()) return {environment};
  const std::string variable = EnvironmentValue("SASSAY_TRITON_VENV");
  return variable.empty() ? GlobUpwards(".venv/triton") : std::vector<std::string>{variable};
}

std::string VersionIn(const std::string& site_packages) {
  for (const std::string& path : GlobPaths(absl::StrCat(site_packages, "/triton-*.dist-info"))) {
    const std::string name = fs::path(path).stem().string();
    return name.substr(name.find('-') + 1);
  }
  return "";
}

}  // namespace

absl::StatusOr<TritonInstallation> FindTriton(const std::string& environment) {
  const std::vector<std::string> environments = Environments(environment);
  for (const std::string& root : environments) {
    for (const std::string& packages : GlobPaths(absl::StrCat(root, "/lib/python3*/site-packages"))) {
      TritonInstallation found;
      found.version = VersionIn(packages);
      found.site_packages = fs::canonical(packages).string();
      found.python = absl::StrCat("/usr/bin/", fs::path(packages).parent_path().filename().string());
      if (found.version.empty() || !fs::exists(fs::path(packages) / "triton")) continue;
      if (fs::exists(found.python)) return found;
      return absl::FailedPreconditionError(
          absl::StrCat("Triton in ", root, " is for ", found.python, ", which is not there; ", kRemedy, "."));
    }
  }
  return absl::FailedPreconditionError(absl::StrCat("Triton is not installed",
                                                    environments.empty() ? "" : absl::StrCat(" in ", environments[0]),
                                                    "; ", kRemedy, "."));
}

}  // namespace sassay::agent
