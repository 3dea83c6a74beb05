#include "profiler_service/api/host/host_report.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sassay::api {
namespace {

using sassay::v1::Check;

constexpr absl::string_view kMend = ". Mend: ";
constexpr size_t kNameWidth = 18;

Check Ok(absl::string_view name, absl::string_view found, absl::string_view version = "", absl::string_view path = "") {
  Check check;
  check.set_name(std::string(name));
  check.set_state(Check::OK);
  check.set_found(std::string(found));
  check.set_version(std::string(version));
  check.set_path(std::string(path));
  return check;
}

Check Lacking(absl::string_view name, Check::State state, absl::string_view found, absl::string_view effect,
              absl::string_view remedy) {
  Check check = Ok(name, found);
  check.set_state(state);
  check.set_effect(std::string(effect));
  check.set_remedy(std::string(remedy));
  return check;
}

// Whether a GPU was asked for by name, so that its absence is an error and no reason to emulate.
bool MustHaveGpu(const ServiceOptions& options) { return absl::StrContains(options.device, "cuda:"); }

Check::State Severity(const ServiceOptions& options) {
  return MustHaveGpu(options) ? Check::MISSING : Check::OPTIONAL_MISSING;
}

constexpr absl::string_view kEmulated = "candidates run on the emulated device, without times";

Check DriverCheck(const ServiceOptions& options, const HostFacts& facts) {
  if (!facts.cuda_driver.ok()) {
    const std::string found =
        absl::StrCat(facts.kernel_driver.empty() ? "" : absl::StrCat("kernel module ", facts.kernel_driver, ", but "),
                     facts.cuda_driver.status().message());
    return Lacking("driver", Severity(options), found, kEmulated,
                   "install NVIDIA's driver 580 or newer (apt install nvidia-driver-580-server); in a container, start "
                   "it with --gpus all");
  }
  return Ok("driver", absl::StrCat("serves CUDA up to ", facts.cuda_driver->cuda_version), facts.kernel_driver,
            facts.cuda_driver->path);
}

void AddGpus(const ServiceOptions& options, const HostFacts& facts, std::vector<Check>& checks) {
  for (const wire::GpuNode& gpu : facts.gpus) {
    checks.push_back(Ok("GPU", absl::StrCat(gpu.model, " ", gpu.uuid, " at ", gpu.bus_id), "", gpu.node));
  }
  if (!facts.gpus.empty()) return;
  checks.push_back(Lacking("GPU", Severity(options), "none that this process may open", kEmulated,
                           "ls -l /dev/nvidia*: the nodes must be there and open to this user; nvidia-modprobe -u "
                           "-c=0 makes them"));
}

Check DevicesCheck(const HostFacts& facts) {
  if (facts.devices.ok()) return Ok("--device", absl::StrJoin(*facts.devices, ", "));
  return Lacking("--device", Check::MISSING, facts.devices.status().message(), "the service does not start",
                 "--device auto");
}

void AddSandbox(const ServiceOptions& options, const HostFacts& facts, std::vector<Check>& checks) {
  const SandboxSupport& support = facts.sandbox;
  const Check::State state = options.allow_unsandboxed ? Check::OPTIONAL_MISSING : Check::MISSING;
  const absl::string_view effect = options.allow_unsandboxed
                                       ? "candidates run with the service's rights (--allow-unsandboxed is set)"
                                       : "candidates are not run";
  const auto add = [&](absl::string_view name, bool there, Check found, absl::string_view remedy) {
    checks.push_back(there ? std::move(found) : Lacking(name, state, "missing", effect, remedy));
  };
  add("bubblewrap", support.bubblewrap, Ok("bubblewrap", "", facts.bubblewrap_version, support.bubblewrap_path),
      "apt install bubblewrap, or keep libexec/bwrap of the package beside bin/");
  add("seccomp", support.seccomp, Ok("seccomp", "works"), "a kernel with CONFIG_SECCOMP_FILTER");
  if (support.Complete()) {
    checks.push_back(Ok("user namespaces", "a sandbox starts"));
  } else if (support.bubblewrap) {
    checks.push_back(Lacking("user namespaces", state, support.missing, effect,
                             "sysctl -w user.max_user_namespaces=15000 kernel.unprivileged_userns_clone=1 "
                             "kernel.apparmor_restrict_unprivileged_userns=0"));
  }
}

Check ProfilingCheck(const HostFacts& facts) {
  switch (facts.profiling) {
    case Profiling::kEveryone:
      return Ok("GPU counters", "every user may read them (RmProfilingAdminOnly: 0)");
    case Profiling::kAdminOnly:
      return Lacking("GPU counters", Check::OPTIONAL_MISSING, "administrators only (RmProfilingAdminOnly: 1)",
                     "evidence of executed instructions is UNAVAILABLE",
                     "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' > "
                     "/etc/modprobe.d/nvidia-profiling.conf, and reboot");
    case Profiling::kUnknown:
      break;
  }
  return Lacking("GPU counters", Check::OPTIONAL_MISSING, "/proc/driver/nvidia/params cannot be read",
                 "whether executed instructions can be counted is not known", "load NVIDIA's kernel module");
}

Check PtxasCheck(const HostFacts& facts) {
  if (facts.toolchain.ok()) return Ok("ptxas", "", facts.toolchain->version, facts.toolchain->ptxas);
  return Lacking("ptxas", Check::OPTIONAL_MISSING, facts.toolchain.status().message(),
                 "bundles stay CLAIMED, so that none is scored",
                 "pip install nvidia-cuda-nvcc==13.0.* nvidia-nvvm==13.0.*, or --cuda-home DIR");
}

Check VendorCheck(const VendorFinding& finding) {
  if (finding.missing.empty()) {
    const std::string others =
        finding.others.empty() ? "" : absl::StrCat("passed over: ", absl::StrJoin(finding.others, ", "));
    return Ok(finding.name, others, finding.version, finding.path);
  }
  const std::pair<std::string, std::string> said = absl::StrSplit(finding.missing, absl::MaxSplits(kMend, 1));
  return Lacking(finding.name, Check::OPTIONAL_MISSING, said.first, finding.purpose, said.second);
}

// "libcublasLt.so.13.1.0.3" -> "libcublasLt": wheels and toolkits call one file differently.
std::string Stem(const std::filesystem::path& library) {
  const std::string name = library.string();
  return name.substr(0, name.find(".so"));
}

// Libraries of this host that are in no list, by name and size of the file.
std::vector<std::string> Unlisted(const HostFacts& facts) {
  std::vector<std::string> unlisted;
  for (const VendorFinding& finding : facts.vendor) {
    if (finding.path.empty() || (finding.name != "cuBLASLt" && finding.name != "cuDNN")) continue;
    std::error_code error;
    const std::filesystem::path file = finding.path;
    const uint64_t bytes = std::filesystem::file_size(file, error);
    const bool listed =
        std::any_of(facts.vendor_lists->begin(), facts.vendor_lists->end(), [&](const admission::VendorList& list) {
          return Stem(list.library) == Stem(file.filename()) && list.bytes == bytes;
        });
    if (!listed) unlisted.push_back(finding.path);
  }
  return unlisted;
}

Check VendorListsCheck(const ServiceOptions& options, const HostFacts& facts) {
  constexpr absl::string_view kName = "vendor kernels";
  const std::string make = absl::StrCat("vendor-kernels -o ", options.state, "/vendor_kernels");
  if (!facts.vendor_lists.ok()) {
    return Lacking(kName, Check::MISSING, facts.vendor_lists.status().message(), "the service does not start",
                   absl::StrCat("delete that list, and ", make));
  }
  uint64_t functions = 0;
  for (const admission::VendorList& list : *facts.vendor_lists) functions += list.functions;
  const std::string known =
      absl::StrCat(functions, " functions of ", facts.vendor_lists->size(), " libraries are listed");
  const std::vector<std::string> unlisted = Unlisted(facts);
  if (unlisted.empty()) return Ok(kName, known);
  return Lacking(kName, Check::OPTIONAL_MISSING,
                 absl::StrCat(known, ", of this host's not ", absl::StrJoin(unlisted, ", ")),
                 "their kernels are known by name alone when somebody hands them in", make);
}

Check DoorCheck(const ServiceOptions& options) {
  const absl::Status door = CheckOptions(options);
  if (door.ok()) return Ok("--listen", options.listen);
  return Lacking("--listen", Check::MISSING, door.message(), "the service does not start",
                 "change the flag that is named");
}

Check StateCheck(const ServiceOptions& options, const HostFacts& facts) {
  if (facts.state.ok()) return Ok("--state", "can be written", "", options.state);
  return Lacking("--state", Check::MISSING, facts.state.message(), "the service does not start", "--state DIR");
}

Check TrialCheck(const HostFacts& facts) {
  const std::string took = absl::FormatDuration(absl::Trunc(facts.trial.took, absl::Milliseconds(10)));
  if (facts.trial.status.ok()) {
    return Ok("judge and runner", absl::StrCat("came up on ", absl::StrJoin(facts.trial.lanes, ", "), " in ", took));
  }
  return Lacking("judge and runner", Check::MISSING, facts.trial.status.message(), "no candidate is judged",
                 "mend what is missing above; nvidia-smi -c DEFAULT if the GPU allows one process only");
}

void AddJoins(const HostFacts& facts, std::vector<Check>& checks) {
  const bool one_works = std::any_of(facts.joins.begin(), facts.joins.end(),
                                     [](const cluster::JoinTrial& join) { return join.status.ok(); });
  for (const cluster::JoinTrial& join : facts.joins) {
    const std::string name = absl::StrCat("--join ", join.address);
    if (join.status.ok()) {
      const absl::string_view taken =
          join.name_taken ? "; a living process has this node's name: a second one waits for its end" : "";
      const absl::string_view other = join.version == SASSAY_VERSION ? "" : "; another release than this one";
      checks.push_back(Ok(name, absl::StrCat("would take this node in", taken, other), join.version));
      continue;
    }
    // Any that answers will do.
    checks.push_back(Lacking(name, one_works ? Check::OPTIONAL_MISSING : Check::MISSING, join.status.message(),
                             one_works ? "one front end less" : "the node gets no work",
                             "mend what is named, here or at the front end"));
  }
}

const char* StateWord(Check::State state) {
  if (state == Check::OK) return "ok      ";
  return state == Check::MISSING ? "missing " : "optional";
}

std::string Lines(const Check& check) {
  const std::string indent(10 + kNameWidth, ' ');
  const std::string name = check.name() + std::string(kNameWidth - std::min(kNameWidth, check.name().size()), ' ');
  std::vector<std::string> words;
  for (const std::string* text : {&check.version(), &check.found(), &check.path()}) {
    if (!text->empty()) words.push_back(*text);
  }
  std::string text = absl::StrCat(StateWord(check.state()), "  ", name, absl::StrJoin(words, "  "), "\n");
  if (!check.effect().empty()) absl::StrAppend(&text, indent, "without it: ", check.effect(), "\n");
  if (!check.remedy().empty()) absl::StrAppend(&text, indent, "to mend it: ", check.remedy(), "\n");
  return text;
}

}  // namespace

sassay::v1::HostReport ReportOnHost(const ServiceOptions& options, const HostFacts& facts) {
  std::vector<Check> checks = {DriverCheck(options, facts)};
  AddGpus(options, facts, checks);
  checks.push_back(DevicesCheck(facts));
  AddSandbox(options, facts, checks);
  checks.push_back(ProfilingCheck(facts));
  checks.push_back(PtxasCheck(facts));
  for (const VendorFinding& finding : facts.vendor) checks.push_back(VendorCheck(finding));
  checks.push_back(VendorListsCheck(options, facts));
  checks.push_back(DoorCheck(options));
  checks.push_back(StateCheck(options, facts));
  checks.push_back(TrialCheck(facts));
  AddJoins(facts, checks);

  sassay::v1::HostReport report;
  report.set_sassay_version(SASSAY_VERSION);
  if (facts.devices.ok()) report.mutable_devices()->Assign(facts.devices->begin(), facts.devices->end());
  report.mutable_checks()->Assign(checks.begin(), checks.end());
  report.set_can_judge(
      std::none_of(checks.begin(), checks.end(), [](const Check& check) { return check.state() == Check::MISSING; }));
  return report;
}

std::string RenderHostReport(const sassay::v1::HostReport& report) {
  std::string text = absl::StrCat("profiler-service ", report.sassay_version(), "\n");
  for (const Check& check : report.checks()) absl::StrAppend(&text, Lines(check));
  return absl::StrCat(text,
                      report.can_judge() ? "This host can judge candidates."
                                         : "This host cannot judge candidates yet; see \"to mend it\" above.",
                      "\n");
}

}  // namespace sassay::api
