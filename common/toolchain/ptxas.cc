#include "common/toolchain/ptxas.h"

#include <algorithm>
#include <cctype>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/files.h"
#include "common/base/status_macros.h"

namespace sassay {
namespace {

constexpr uint64_t kOutputBytes = 1 << 20;
constexpr const char* kWork = "/work";
constexpr const char* kPtxas = "/tools/ptxas";
constexpr const char* kHidden[] = {"/usr/include", "/usr/local", "/usr/share", "/usr/src"};
constexpr const char* kPlainOptions[] = {
    "--generate-line-info", "-v", "-O0", "-O1", "-O2", "-O3", "--fmad=true", "--fmad=false", "--warn-on-spills"};

bool IsArch(absl::string_view arch) {
  if (!absl::ConsumePrefix(&arch, "sm_")) return false;
  if (!arch.empty() && (arch.back() == 'a' || arch.back() == 'f')) arch.remove_suffix(1);
  return (arch.size() == 2 || arch.size() == 3) && std::all_of(arch.begin(), arch.end(), ::isdigit);
}

bool IsRegisterLimit(absl::string_view option) {
  return absl::ConsumePrefix(&option, "--maxrregcount=") && !option.empty() && option.size() <= 3 &&
         std::all_of(option.begin(), option.end(), ::isdigit);
}

bool IsAllowedOption(const std::string& option) {
  return IsRegisterLimit(option) ||
         std::find(std::begin(kPlainOptions), std::end(kPlainOptions), option) != std::end(kPlainOptions);
}

SandboxPolicy MakePolicy(const Toolchain& toolchain, const std::string& folder) {
  SandboxPolicy policy;
  policy.read_only = {{toolchain.ptxas, kPtxas}};
  policy.writable = {{folder, kWork}};
  policy.hidden.assign(std::begin(kHidden), std::end(kHidden));
  policy.address_space_bytes = uint64_t{8} << 30;
  policy.processes = 64;
  return policy;
}

}  // namespace

std::vector<std::string> DefaultPtxasOptions() { return {"-v", "--generate-line-info"}; }

absl::StatusOr<std::vector<std::string>> BuildPtxasArguments(const std::string& ptxas,
                                                             const sassay::v1::Compilation& untrusted_compilation,
                                                             absl::string_view input, absl::string_view output) {
  if (!IsArch(untrusted_compilation.arch())) {
    return absl::InvalidArgumentError(
        absl::StrCat("compilation.arch: expected something like sm_90a, got \"", untrusted_compilation.arch(), "\""));
  }
  std::vector<std::string> arguments = {ptxas, absl::StrCat("-arch=", untrusted_compilation.arch()), "-m64"};
  for (const auto& option : untrusted_compilation.ptxas_options()) {
    if (!IsAllowedOption(option)) {
      return absl::InvalidArgumentError(
          absl::StrCat("compilation.ptxas_options: \"", option, "\" is not an option that a bundle may ask for"));
    }
    arguments.push_back(option);
  }
  arguments.insert(arguments.end(), {std::string(input), "-o", std::string(output)});
  return arguments;
}

absl::StatusOr<Assembly> AssemblePtx(const Toolchain& toolchain, const sassay::v1::Compilation& untrusted_compilation,
                                     absl::string_view untrusted_ptx, absl::Duration timeout,
                                     const AllowUnsandboxed* unsandboxed, const StopAsked& stop) {
  ASSIGN_OR_RETURN(TemporaryDirectory folder, TemporaryDirectory::Create("sassay-ptxas"));
  RETURN_IF_ERROR(WriteFileAtomically(folder.path() / "kernel.ptx", untrusted_ptx));
  std::string work = unsandboxed != nullptr ? folder.path().string() : kWork;
  Command command;
  ASSIGN_OR_RETURN(command.argv,
                   BuildPtxasArguments(unsandboxed != nullptr ? toolchain.ptxas : kPtxas, untrusted_compilation,
                                       work + "/kernel.ptx", work + "/kernel.cubin"));
  command.environment = {{"PATH", "/usr/bin:/bin"}};
  SandboxPolicy policy = MakePolicy(toolchain, folder.path().string());
  policy.cpu_time = timeout + absl::Seconds(2);  // so that the deadline is what ends it, and says so
  ASSIGN_OR_RETURN(command, unsandboxed != nullptr ? WrapWithoutSandbox(command, policy, *unsandboxed)
                                                   : WrapInSandbox(command, policy));
  Assembly assembly;
  ASSIGN_OR_RETURN(assembly.report, RunToCompletion(command, timeout, kOutputBytes, "", stop));
  RETURN_IF_ERROR(SandboxFailure(assembly.report));
  if (!assembly.report.Succeeded()) return assembly;
  ASSIGN_OR_RETURN(assembly.cubin, ReadUntrustedFile(folder.path() / "kernel.cubin"));
  return assembly;
}

}  // namespace sassay
