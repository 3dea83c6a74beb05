#include "profiler_service/api/service/machine.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/sandbox/sandbox.h"
#include "common/toolchain/toolchain.h"
#include "profiler_service/device/device.h"

namespace sassay::api {
namespace {

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() < 5 && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

void Line(std::ostream& out, absl::string_view what, absl::string_view found) {
  out << what << std::string(what.size() < 20 ? 20 - what.size() : 1, ' ') << found << "\n";
}

void Tool(std::ostream& out, absl::string_view name, const std::string& path) {
  Line(out, name, path.empty() ? "not found" : path);
}

bool CheckDevices(const ServiceOptions& options, std::ostream& out) {
  const auto devices = ParseDevices(options.device);
  Line(out, "devices", devices.ok() ? absl::StrJoin(*devices, ", ") : std::string(devices.status().message()));
  return devices.ok();
}

void CheckTools(const ServiceOptions& options, std::ostream& out) {
  ToolchainSearch search;
  search.cuda_home = options.cuda_home;
  const auto toolchain = FindToolchain(search);
  if (!toolchain.ok()) {
    Line(out, "CUDA toolkit", absl::StrCat("not found, bundles stay CLAIMED: ", toolchain.status().message()));
    return;
  }
  Line(out, "CUDA toolkit", absl::StrCat(toolchain->version, " in ", toolchain->root));
  Tool(out, "ptxas", toolchain->ptxas);
  Tool(out, "nvdisasm", toolchain->nvdisasm);
  Tool(out, "compute-sanitizer", toolchain->compute_sanitizer);
}

bool CheckSandbox(const ServiceOptions& options, std::ostream& out) {
  const SandboxSupport& support = ProbeSandbox();
  Line(out, "bubblewrap", support.bubblewrap ? "found" : "missing");
  Line(out, "user namespaces", support.user_namespaces ? "work" : "missing");
  Line(out, "seccomp", support.seccomp ? "works" : "missing");
  if (support.Complete()) return true;
  Line(out, "sandbox",
       absl::StrCat(support.missing, options.allow_unsandboxed ? " (--allow-unsandboxed: going on)" : ""));
  return options.allow_unsandboxed;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseDevices(absl::string_view text) {
  if (text == "auto") return device::DetectDevices();
  std::vector<std::string> devices;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const absl::string_view entry = absl::StripAsciiWhitespace(part);
    const bool follows_cuda = !devices.empty() && absl::StartsWith(devices.back(), "cuda:");
    if (absl::StartsWith(entry, "cuda:") && IsNumber(entry.substr(5))) {
      devices.emplace_back(entry);
    } else if (IsNumber(entry) && follows_cuda) {
      devices.push_back(absl::StrCat("cuda:", entry));
    } else if (absl::StartsWith(entry, "emulated:sm_")) {
      devices.emplace_back(entry);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--device: expected auto, cuda:0,1 or emulated:sm_90a, got '", text, "'"));
    }
  }
  return devices;
}

bool CheckMachine(const ServiceOptions& options, std::ostream& out) {
  Line(out, "profiler-service", SASSAY_VERSION);
  const bool devices = CheckDevices(options, out);
  CheckTools(options, out);
  const bool sandbox = CheckSandbox(options, out);
  const absl::Status exposure = CheckOptions(options);
  Line(out, "listen", exposure.ok() ? options.listen : std::string(exposure.message()));
  Line(out, "state", options.state);
  return devices && sandbox && exposure.ok();
}

}  // namespace sassay::api
