#include "common/sandbox/remedy.h"

#include <cstdint>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sassay::sandbox_internal {
namespace {

// Nothing where the kernel has no such switch.
std::optional<int64_t> Switch(const std::filesystem::path& file) {
  int64_t value = 0;
  std::ifstream stream(file);
  return stream >> value ? std::optional<int64_t>(value) : std::nullopt;
}

std::string Sysctl(absl::string_view setting) {
  return absl::StrCat("sudo sysctl -w ", setting, " (and `", setting, "` into /etc/sysctl.d/60-sassay.conf, to last)");
}

// AppArmor's own way to let one program pass; flags=(unconfined) restricts it in nothing else.
std::string Profile(const std::string& program) {
  return absl::StrCat("printf 'abi <abi/4.0>,\\nprofile sassay-bwrap ", program,
                      " flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/sassay-bwrap && sudo "
                      "apparmor_parser -r /etc/apparmor.d/sassay-bwrap");
}

}  // namespace

std::string RemedyFor(const std::filesystem::path& proc_sys, bool root, const std::string& bubblewrap) {
  if (Switch(proc_sys / "user/max_user_namespaces") == 0) return Sysctl("user.max_user_namespaces=15000");
  if (!root && Switch(proc_sys / "kernel/unprivileged_userns_clone") == 0)
    return Sysctl("kernel.unprivileged_userns_clone=1");
  if (!root && Switch(proc_sys / "kernel/apparmor_restrict_unprivileged_userns") == 1) {
    return absl::StrCat("for bubblewrap alone: ", Profile(bubblewrap),
                        "; or for every program: ", Sysctl("kernel.apparmor_restrict_unprivileged_userns=0"));
  }
  return "in a container: docker run --security-opt seccomp=unconfined --security-opt systempaths=unconfined; "
         "Kubernetes: procMount: Unmasked and a seccompProfile that allows user namespaces";
}

}  // namespace sassay::sandbox_internal
