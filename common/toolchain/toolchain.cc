#include "common/toolchain/toolchain.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"
#include "common/toolchain/library_versions.h"
#include "common/toolchain/places.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;

constexpr absl::Duration kVersionTimeout = absl::Seconds(20);
constexpr const char* kMend = "bash deploy/install_dependencies.sh";

std::string Canonical(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  return error ? "" : real.string();
}

// The program bin/NAME of a toolkit; empty if there is none.
std::string Program(const fs::path& root, const char* name) {
  std::string path = Canonical(root / "bin" / name);
  return !path.empty() && access(path.c_str(), X_OK) == 0 ? path : "";
}

std::string RootOfProgramInPath(const char* name) {
  auto path = FindProgram(name);
  if (!path.ok()) return "";
  return fs::path(Canonical(*path)).parent_path().parent_path().string();
}

// Every folder worth a look, best first.
std::vector<std::string> Roots(const ToolchainSearch& search, const std::vector<std::string>& site_packages) {
  if (search.only_cuda_home) return {search.cuda_home};
  std::vector<std::string> roots = {search.cuda_home, EnvironmentValue("SASSAY_CUDA_HOME"),
                                    EnvironmentValue("CUDA_HOME"), "/usr/local/cuda"};
  for (const auto& path : GlobUpwards(".venv/cuda")) roots.push_back(path);
  roots.push_back(RootOfProgramInPath("nvcc"));
  roots.push_back(RootOfProgramInPath("ptxas"));
  for (const auto& path : site_packages) roots.push_back(path + "/nvidia/cu13");
  std::erase(roots, "");
  return roots;
}

std::string FirstProgram(const std::vector<std::string>& roots, const char* name) {
  for (const auto& root : roots) {
    if (std::string path = Program(root, name); !path.empty()) return path;
  }
  return "";
}

// What was asked for by name decides; else the newest.
std::string NewestProgram(const std::vector<std::string>& roots, const ToolchainSearch& search, const char* name) {
  for (const std::string& home : {search.cuda_home, EnvironmentValue("SASSAY_CUDA_HOME")}) {
    if (std::string path = home.empty() ? "" : Program(home, name); !path.empty()) return path;
  }
  std::vector<std::string> programs;
  for (const auto& root : roots) {
    std::string path = Program(root, name);
    if (!path.empty() && std::find(programs.begin(), programs.end(), path) == programs.end()) programs.push_back(path);
  }
  return programs.empty() ? "" : NewestTool(programs);
}

// ToolVersion, asked once; empty where it does not tell.
std::string RememberedVersion(const std::string& tool) {
  static absl::Mutex mutex(absl::kConstInit);
  static auto* const versions = new std::map<std::string, std::string>;
  absl::MutexLock lock(&mutex);
  const auto found = versions->find(tool);
  if (found != versions->end()) return found->second;
  return versions->emplace(tool, ToolVersion(tool).value_or("")).first->second;
}

std::string FindTvmFfi(const std::vector<std::string>& site_packages) {
  for (const auto& packages : site_packages) {
    std::string include = Canonical(packages + "/tvm_ffi/include");
    if (!include.empty() && fs::exists(include + "/tvm/ffi")) return include;
  }
  return "";
}

absl::Status CheckExplicitHome(const std::string& home, const char* origin) {
  if (home.empty() || !Program(home, "ptxas").empty()) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(origin, " is ", home, ", which has no bin/ptxas: name the folder of a CUDA toolkit"));
}

void NoteMissing(Toolchain& toolchain) {
  auto note = [&](const std::string& path, const char* what) {
    if (path.empty()) toolchain.missing.push_back(what);
  };
  note(toolchain.nvdisasm,
       "nvdisasm is not there, so SASS families are unknown: .venv/bin/pip install --no-deps nvidia-cuda-nvdisasm");
  note(toolchain.tvm_ffi_include,
       "tvm_ffi headers are not there, so tvm_ffi candidates do not compile: .venv/bin/pip install --no-deps "
       "apache-tvm-ffi");
}

// The first root whose ptxas answers.
absl::StatusOr<Toolchain> FirstToolkit(const std::vector<std::string>& roots) {
  std::vector<std::string> looked;
  for (const auto& root : roots) {
    Toolchain toolchain;
    toolchain.root = Canonical(root);
    toolchain.ptxas = Program(root, "ptxas");
    looked.push_back(root);
    if (toolchain.ptxas.empty()) continue;
    auto version = ToolVersion(toolchain.ptxas);
    if (!version.ok()) continue;
    toolchain.version = *std::move(version);
    toolchain.nvcc = Program(root, "nvcc");
    return toolchain;
  }
  return absl::NotFoundError(absl::StrCat("no CUDA toolkit with a working ptxas in ", absl::StrJoin(looked, ", "),
                                          ": set SASSAY_CUDA_HOME, or run ", kMend));
}

// "13.0.88" at the start of `text`; empty otherwise.
std::string LeadingVersion(absl::string_view text) {
  size_t end = text.find_first_not_of("0123456789.");
  absl::string_view version = text.substr(0, end);
  return absl::StripSuffix(version, ".").find('.') == absl::string_view::npos
             ? ""
             : std::string(absl::StripSuffix(version, "."));
}

bool IsToolkitTool(const Toolchain& toolchain, const std::string& tool) {
  return tool == toolchain.nvcc || tool == toolchain.ptxas;
}

}  // namespace

absl::StatusOr<std::string> ParseToolVersion(absl::string_view output) {
  for (absl::string_view marker : {", V", "Version "}) {
    for (size_t at = output.find(marker); at != absl::string_view::npos; at = output.find(marker, at + 1)) {
      std::string version = LeadingVersion(output.substr(at + marker.size()));
      if (!version.empty()) return version;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("no version like \"V13.0.88\" in: ", output.substr(0, 200)));
}

absl::StatusOr<std::string> ToolVersion(const std::string& tool) {
  Command command;
  command.argv = {tool, "--version"};
  ASSIGN_OR_RETURN(ExitReport report, RunToCompletion(command, kVersionTimeout, 1 << 16));
  if (!report.Succeeded()) return absl::UnavailableError(absl::StrCat(tool, " --version: ", DescribeExit(report)));
  return ParseToolVersion(report.stdout_text);
}

std::string NewestTool(const std::vector<std::string>& programs) {
  std::string newest = programs.front();
  for (size_t i = 1; i < programs.size(); ++i) {
    if (IsLaterVersion(RememberedVersion(programs[i]), RememberedVersion(newest))) newest = programs[i];
  }
  return newest;
}

absl::StatusOr<Toolchain> FindToolchain(const ToolchainSearch& search) {
  RETURN_IF_ERROR(CheckExplicitHome(search.cuda_home, "the CUDA home asked for"));
  if (!search.only_cuda_home)
    RETURN_IF_ERROR(CheckExplicitHome(EnvironmentValue("SASSAY_CUDA_HOME"), "SASSAY_CUDA_HOME"));
  std::vector<std::string> site_packages = SitePackages();
  std::vector<std::string> roots = Roots(search, site_packages);
  ASSIGN_OR_RETURN(Toolchain toolchain, FirstToolkit(roots));
  toolchain.nvdisasm = NewestProgram(roots, search, "nvdisasm");
  toolchain.cuobjdump = FirstProgram(roots, "cuobjdump");
  toolchain.compute_sanitizer = FirstProgram(roots, "compute-sanitizer");
  toolchain.tvm_ffi_include = FindTvmFfi(site_packages);
  NoteMissing(toolchain);
  return toolchain;
}

std::string ToolInside(const Toolchain& toolchain, const std::string& tool) {
  std::string relative = fs::path(tool).lexically_relative(toolchain.root).string();
  if (IsToolkitTool(toolchain, tool)) return absl::StrCat(kToolkitInside, "/", relative);
  return absl::StrCat("/tools/", fs::path(tool).filename().string());
}

std::vector<std::pair<std::string, std::string>> ToolMounts(const Toolchain& toolchain, const std::string& tool) {
  if (IsToolkitTool(toolchain, tool)) return {{toolchain.root, std::string(kToolkitInside)}};
  return {{tool, ToolInside(toolchain, tool)}};
}

}  // namespace sassay
