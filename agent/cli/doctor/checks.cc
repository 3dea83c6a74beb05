#include "agent/cli/doctor/checks.h"

#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/build/remote_builder.h"
#include "agent/build/toolchain.h"
#include "agent/build/workload_names.h"
#include "agent/capture/devices/device_table.h"
#include "agent/carried/carried.h"
#include "agent/interop/triton/installation.h"
#include "agent/submit/calls.h"
#include "common/sandbox/sandbox.h"

namespace sassay::agent {
namespace {

constexpr absl::Duration kServiceTimeout = absl::Seconds(5);
constexpr char kInstall[] = "bash deploy/install_dependencies.sh";

v1::Check Ok(absl::string_view name, absl::string_view found) {
  v1::Check check;
  check.set_name(std::string(name));
  check.set_state(v1::Check::OK);
  check.set_found(std::string(found));
  return check;
}

v1::Check Lacking(absl::string_view name, v1::Check::State state, absl::string_view found, absl::string_view effect,
                  absl::string_view remedy) {
  v1::Check check = Ok(name, found);
  check.set_state(state);
  check.set_effect(std::string(effect));
  check.set_remedy(std::string(remedy));
  return check;
}

v1::Check Tool(absl::string_view name, const std::string& path, v1::Check::State if_missing, absl::string_view effect) {
  if (!path.empty()) return Ok(name, path);
  return Lacking(name, if_missing, "not found", effect, kInstall);
}

void CheckToolchain(const Settings& settings, v1::DoctorReport& report) {
  const absl::StatusOr<Toolchain> toolchain = FindConfiguredToolchain(settings);
  if (!toolchain.ok()) {
    *report.add_checks() = Lacking("toolkit", v1::Check::MISSING, std::string(toolchain.status().message()),
                                   "nothing can be compiled", kInstall);
    return;
  }
  *report.add_checks() = Ok("toolkit", absl::StrCat("CUDA ", toolchain->version, " in ", toolchain->root));
  *report.add_checks() = Tool("nvcc", toolchain->nvcc, v1::Check::MISSING, "nothing can be compiled");
  *report.add_checks() = Tool("ptxas", toolchain->ptxas, v1::Check::MISSING, "nothing can be compiled");
  *report.add_checks() =
      Tool("nvdisasm", toolchain->nvdisasm, v1::Check::OPTIONAL_MISSING, "bundles do not show static SASS families");
  *report.add_checks() = Tool("tvm-ffi", toolchain->tvm_ffi_include, v1::Check::OPTIONAL_MISSING,
                              "candidates with a tvm-ffi entry do not compile");
}

v1::Check CheckTriton(const Settings& settings) {
  const absl::StatusOr<TritonInstallation> triton = FindTriton(settings.Text("triton_venv"));
  if (triton.ok()) return Ok("triton", absl::StrCat(triton->version, " in ", triton->site_packages));
  return Lacking("triton", v1::Check::OPTIONAL_MISSING, "not installed", "Triton candidates are not compiled",
                 "bash deploy/install_triton.sh");
}

v1::Check CheckSandbox(const Settings& settings) {
  const SandboxSupport& support = ProbeSandbox();
  if (support.Complete()) return Ok("sandbox", absl::StrCat("namespaces and seccomp, by ", support.bubblewrap_path));
  if (support.landlock > 0) {
    return Lacking(
        "sandbox", v1::Check::OPTIONAL_MISSING,
        absl::StrCat("Landlock (version ", support.landlock, ") and seccomp; no namespaces: ", support.missing),
        "compilers and host code are held, but see this machine's paths and process numbers", support.remedy);
  }
  const bool allowed = settings.Switch("allow_unsandboxed");
  return Lacking("sandbox", allowed ? v1::Check::OPTIONAL_MISSING : v1::Check::MISSING,
                 absl::StrCat("neither namespaces (", support.missing, ") nor Landlock (Linux 5.13 or newer has it)"),
                 allowed ? "candidates' host code runs with your rights (allow_unsandboxed is set)"
                         : "compiler and host code of candidates are not run",
                 absl::StrCat(support.remedy, "; or --allow-unsandboxed at your own risk"));
}

v1::Check CheckWorkloads(const Settings& settings) {
  const absl::StatusOr<WorkloadCatalog> catalog = LoadCatalog(settings);
  if (catalog.ok()) return Ok("workloads", absl::StrCat(catalog->definitions().size(), " definitions"));
  return Lacking("workloads", v1::Check::MISSING, std::string(catalog.status().message()), "no workload can be named",
                 "correct the file, or the definitions setting");
}

v1::Check CheckCache(const Session& session) {
  const std::filesystem::path folder = CacheFolder(session.settings(), session.terminal().environment);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const bool writable = !folder.empty() && access(folder.c_str(), W_OK) == 0;
  if (writable) return Ok("cache", folder.string());
  return Lacking("cache", v1::Check::OPTIONAL_MISSING, absl::StrCat("cannot write ", folder.string()),
                 "every compilation begins anew", "--cache-dir DIR, or SASSAY_CACHE_DIR");
}

std::string DevicesText(const v1::GetCapabilitiesResponse& capabilities) {
  std::vector<std::string> devices;
  for (const v1::DeviceCapability& device : capabilities.devices()) {
    devices.push_back(absl::StrCat(device.model(), " (", absl::StrJoin(device.archs(), ", "), ")"));
  }
  return devices.empty() ? "no devices" : absl::StrJoin(devices, ", ");
}

v1::Check CheckService(const Session& session) {
  const bool configured = session.settings().Origin("service") != "default";
  const auto state = configured ? v1::Check::MISSING : v1::Check::OPTIONAL_MISSING;
  const auto lacking = [&](const absl::Status& status) {
    return Lacking("service", state, std::string(status.message()), "nothing can be judged; compile and inspect work",
                   configured ? "check --service, --ca-file and --token-file"
                              : "profiler-service --device auto &, or --service HOST:PORT");
  };
  const auto connection = session.Connect();
  if (!connection.ok()) return lacking(connection.status());
  const absl::StatusOr<v1::GetCapabilitiesResponse> capabilities = GetCapabilities(**connection, kServiceTimeout);
  if (!capabilities.ok()) return lacking(capabilities.status());
  if (const absl::Status status = sassay::CheckService(PeerOf(*capabilities), kOldestService, "it"); !status.ok())
    return lacking(status);
  return Ok("service", absl::StrCat((*connection)->service(), ", ", Describe(PeerOf(*capabilities)),
                                    " (this agent: ", Describe(ThisProcess()), "), rules ",
                                    capabilities->rules_version(), ", ", DevicesText(*capabilities)));
}

v1::Check CheckGpu() {
  const absl::StatusOr<capture::DeviceModel> gpu = capture::ReadLocalDevice(0);
  if (gpu.ok()) return Ok("gpu", absl::StrCat(gpu->name, " (", gpu->arch, ")"));
  return Lacking("gpu", v1::Check::OPTIONAL_MISSING, std::string(gpu.status().message()),
                 "a service on this machine emulates the GPU and takes no times",
                 "none is needed here; name a service with a GPU with --service");
}

// Capture starts programs that travel inside this one.
v1::Check CheckCapture(const Session& session) {
  const auto programs = UnpackCarried(CacheFolder(session.settings(), session.terminal().environment));
  if (programs.ok()) return Ok("capture", absl::StrCat("its programs are unpacked in ", programs->string()));
  return Lacking("capture", v1::Check::MISSING, std::string(programs.status().message()),
                 "host code cannot be captured", "--cache-dir DIR, a folder of yours from which programs may run");
}

v1::Check CheckBuilder(const Settings& settings) {
  const absl::StatusOr<v1::GetBuilderResponse> builder = GetBuilder(settings, kServiceTimeout);
  if (builder.ok()) {
    return Ok("builder", absl::StrCat(settings.Text("builder"), ", sassay ", builder->sassay_version(), ", CUDA ",
                                      builder->toolkit_version(), ", ", builder->places(), " places"));
  }
  return Lacking("builder", v1::Check::MISSING, std::string(builder.status().message()),
                 "nothing can be compiled and captured", "check --builder, --ca-file and --token-file");
}

// What this machine lacks for compiling is of no matter where a builder does it.
void CheckBuilding(const Session& session, v1::DoctorReport& report) {
  const bool elsewhere = !session.settings().Text("builder").empty();
  if (elsewhere) *report.add_checks() = CheckBuilder(session.settings());
  const int first = report.checks_size();
  CheckToolchain(session.settings(), report);
  *report.add_checks() = CheckTriton(session.settings());
  *report.add_checks() = CheckSandbox(session.settings());
  *report.add_checks() = CheckCapture(session);
  for (int i = first; elsewhere && i < report.checks_size(); ++i) {
    if (report.checks(i).state() == v1::Check::MISSING)
      report.mutable_checks(i)->set_state(v1::Check::OPTIONAL_MISSING);
  }
}

}  // namespace

v1::DoctorReport Examine(const Session& session) {
  v1::DoctorReport report;
  CheckBuilding(session, report);
  *report.add_checks() = CheckWorkloads(session.settings());
  *report.add_checks() = CheckCache(session);
  *report.add_checks() = CheckService(session);
  *report.add_checks() = CheckGpu();
  report.set_works(true);
  for (const v1::Check& check : report.checks()) {
    if (check.state() == v1::Check::MISSING) report.set_works(false);
  }
  return report;
}

}  // namespace sassay::agent
