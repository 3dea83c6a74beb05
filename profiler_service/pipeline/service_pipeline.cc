#include "profiler_service/pipeline/service_pipeline.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/toolchain/library_versions.h"
#include "common/toolchain/toolchain.h"
#include "common/toolchain/vendor_libraries.h"
#include "profiler_service/evidence/disassembly_cache.h"
#include "profiler_service/pipeline/lanes/process_lane.h"
#include "profiler_service/pipeline/witness.h"
#include "profiler_service/wire/gpu_nodes.h"

namespace sassay::pipeline {
namespace {

constexpr absl::Duration kJudgeStart = absl::Seconds(60), kJudgeSilence = absl::Minutes(3);

absl::StatusOr<std::filesystem::path> Program(const std::filesystem::path& folder, const char* name) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path path = std::filesystem::absolute((folder.empty() ? own.parent_path() : folder) / name);
  if (std::filesystem::exists(path, error)) return path;
  return absl::NotFoundError(absl::StrCat(path.string(), " is missing; it is installed beside profiler-service"));
}

// The judge is trusted and needs to find the driver's libraries as the service does.
std::map<std::string, std::string> JudgeEnvironment() {
  std::map<std::string, std::string> environment;
  for (const char* name :
       {"LD_LIBRARY_PATH", "SASSAY_CUDA_LIBRARY_PATH", "SASSAY_CUDA_HOME", "CUDA_HOME", "VIRTUAL_ENV", "PATH", "HOME",
        "CUDA_VISIBLE_DEVICES", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name); value != nullptr) environment[name] = value;
  }
  return environment;
}

absl::StatusOr<wire::WorkerOptions> JudgeOptions(const ServicePipelineOptions& options, const std::string& device) {
  ASSIGN_OR_RETURN(const std::filesystem::path program, Program(options.programs, "profiler-judge"));
  wire::WorkerOptions judge;
  judge.name = "judge";
  judge.argv = {program.string(),
                "--device",
                device,
                "--reference-seconds",
                absl::StrCat(options.reference_seconds),
                "--device-cache-share",
                absl::StrCat(options.judge_cache_share)};
  for (const std::filesystem::path& directory : options.workloads) {
    judge.argv.push_back("--workloads");
    judge.argv.push_back(directory.string());
  }
  judge.environment = JudgeEnvironment();
  judge.environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  // As for a runner: what it does not see costs the driver nothing.
  if (absl::StartsWith(device, "cuda:GPU-")) judge.environment["CUDA_VISIBLE_DEVICES"] = device.substr(5);
  return judge;
}

// Being in a workloads folder is the operator's approval; the digest is checked all the same.
absl::StatusOr<std::string> TrustedBundle(const std::vector<std::filesystem::path>& workloads,
                                          absl::string_view sha256) {
  const std::string name = absl::StrCat(sha256, ".bundle");
  for (const std::filesystem::path& directory : workloads) {
    absl::StatusOr<std::string> bytes = ReadFile(directory / "bundles" / name);
    if (absl::IsNotFound(bytes.status())) continue;
    RETURN_IF_ERROR(bytes.status());
    if (Sha256Hex(*bytes) == sha256) return bytes;
    return absl::DataLossError(absl::StrCat("bundles/", name, " does not have the digest of its name"));
  }
  return absl::NotFoundError(absl::StrCat("the reference kernel bundles/", name,
                                          " is in no --workloads folder; an admin approves it by putting it there"));
}

evidence::Disassembler DisassemblerOf(const absl::StatusOr<Toolchain>& toolchain,
                                      const absl::optional<AllowUnsandboxed>& unsandboxed) {
  const auto run = [toolchain, unsandboxed](absl::string_view cubin,
                                            absl::Duration timeout) -> absl::StatusOr<Disassembly> {
    RETURN_IF_ERROR(toolchain.status());
    return DisassembleWithLines(*toolchain, cubin, timeout, unsandboxed.has_value() ? &*unsandboxed : nullptr);
  };
  return [cache = std::make_shared<evidence::DisassemblyCache>(run)](absl::string_view cubin, absl::Duration timeout) {
    return cache->Get(cubin, timeout);
  };
}

// What no other lane is called: pools, logs and Control tell lanes apart by it.
std::string NameOf(const std::string& given, size_t position, absl::string_view emulated_suffix) {
  if (!absl::StartsWith(given, "emulated:")) return wire::StableName(given);
  return absl::StrCat(given, "#", position, emulated_suffix);
}

// Of the toolkit that was asked for (--cuda-home); else the newest.
LaneTools FindLaneTools(const absl::StatusOr<Toolchain>& toolchain, bool asked_for) {
  LaneTools tools;
  if (toolchain.ok() && asked_for) tools.compute_sanitizer = toolchain->compute_sanitizer;
  if (tools.compute_sanitizer.empty()) tools.compute_sanitizer = FindVendorTool("compute-sanitizer").value_or("");
  if (tools.compute_sanitizer.empty() && toolchain.ok()) tools.compute_sanitizer = toolchain->compute_sanitizer;
  tools.ncu = FindVendorTool("ncu").value_or("");
  tools.cuda_gdb = FindVendorTool("cuda-gdb").value_or("");
  return tools;
}

// What decides lies in all three, and two builds may have one version.
absl::StatusOr<std::string> DigestOfPrograms(const std::filesystem::path& folder) {
  std::string digests;
  ASSIGN_OR_RETURN(const std::filesystem::path judge, Program(folder, "profiler-judge"));
  ASSIGN_OR_RETURN(const std::filesystem::path runner, Program(folder, "profiler-runner"));
  for (const std::filesystem::path& program : {std::filesystem::path("/proc/self/exe"), judge, runner}) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(program));
    absl::StrAppend(&digests, Sha256Hex(bytes));
  }
  return digests;
}

}  // namespace

absl::Status AddVendorKernels(const std::filesystem::path& state, admission::VendorKernels& known) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  RETURN_IF_ERROR(known.AddFolder(own.parent_path().parent_path() / "share/sassay/vendor_kernels"));
  return known.AddFolder(state / "vendor_kernels");
}

ServicePipeline::~ServicePipeline() = default;

absl::StatusOr<std::unique_ptr<ServicePipeline>> ServicePipeline::Start(const ServicePipelineOptions& options) {
  ASSIGN_OR_RETURN(const std::filesystem::path runner, Program(options.programs, "profiler-runner"));
  ASSIGN_OR_RETURN(evaluate::SeedPool seeds, evaluate::SeedPool::FromFile(options.state / "seed_secret"));
  std::unique_ptr<ServicePipeline> service(new ServicePipeline());
  wire::RunnerPoolOptions pool;
  pool.runner_program = runner.string();
  pool.allow_unsandboxed = options.allow_unsandboxed;
  pool.live = wire::LiveRunners::Create([hub = options.telemetry](absl::string_view device, wire::Happening happening,
                                                                  pid_t pid, absl::string_view reason) {
    TellOfWorker(hub, {std::string(device), "runner", happening, pid, std::string(reason)});
  });
  service->pool_ = std::make_unique<wire::RunnerPool>(std::move(pool));
  ToolchainSearch search;
  search.cuda_home = options.cuda_home;
  const absl::StatusOr<Toolchain> toolchain = FindToolchain(search);
  admission::ProvenanceChecker::Options provenance;
  provenance.unsandboxed = options.allow_unsandboxed;
  service->provenance_ = std::make_unique<admission::ProvenanceChecker>(toolchain, provenance);
  PipelineParts parts(std::move(seeds));
  parts.catalog = options.catalog;
  parts.usual_run_deadline = options.usual_run_deadline;
  parts.device_deadline = options.device_deadline;
  parts.timing_budget = options.timing_budget;
  parts.exclusive = options.exclusive;
  parts.telemetry = options.telemetry;
  parts.default_sanitize = options.sanitize;
  parts.barred_digests_file = options.state / "barred_digests";
  parts.baseline_history_file = options.state / "baseline_history";
  parts.provenance = [checker = service->provenance_.get()](const admission::AdmittedBundle& bundle,
                                                            absl::Time deadline, const StopAsked& stop) {
    return checker->Check(bundle, deadline, stop);
  };
  RETURN_IF_ERROR(AddVendorKernels(options.state, service->vendor_kernels_));
  parts.vendor_kernel = [known = &service->vendor_kernels_](const sassay::v1::Bundle& bundle) {
    return known->Find(bundle);
  };
  parts.disassemble = DisassemblerOf(toolchain, options.allow_unsandboxed);
  parts.trusted_bundle = [workloads = options.workloads](absl::string_view sha256) {
    return TrustedBundle(workloads, sha256);
  };
  const LaneTools tools = FindLaneTools(toolchain, !options.cuda_home.empty());
  ASSIGN_OR_RETURN(const std::string programs, DigestOfPrograms(options.programs));
  service->settings_sha256_ = Sha256Hex(absl::StrCat(programs, "\n", parts.default_sanitize, "\n",
                                                     tools.compute_sanitizer, "\n", service->vendor_kernels_.digest()));
  RETURN_IF_ERROR(service->AddLanes(options, tools, parts));
  const auto on_a_gpu = [](const auto& lane) { return !lane->emulated(); };
  if (std::any_of(parts.lanes.begin(), parts.lanes.end(), on_a_gpu)) parts.driver_cuda = DriverCudaVersion();
  service->pipeline_ = std::make_unique<Pipeline>(std::move(parts));
  service->gpus_ = std::make_unique<LaneGpus>(service->pipeline_->lanes());
  return service;
}

absl::Status ServicePipeline::AddLanes(const ServicePipelineOptions& options, const LaneTools& tools,
                                       PipelineParts& parts) {
  if (options.devices.empty()) return absl::InvalidArgumentError("expected at least one device, got none");
  for (const std::string& given : options.devices) {
    // From here on a GPU is its UUID: indices shift when another one falls off the bus.
    const std::string device = NameOf(given, parts.lanes.size(), options.emulated_suffix);
    ASSIGN_OR_RETURN(wire::WorkerOptions judge_options, JudgeOptions(options, device));
    const auto tell = [hub = options.telemetry, device](wire::Happening happening, pid_t pid,
                                                        absl::string_view reason) {
      TellOfWorker(hub, {device, "judge", happening, pid, std::string(reason)});
    };
    ASSIGN_OR_RETURN(std::unique_ptr<JudgeSupervisor> judge,
                     JudgeSupervisor::Start(judge_options, kJudgeStart, kJudgeSilence, tell));
    judges_.push_back(judge.get());
    const uint32_t usual = judge->device().kind() == "emulated" ? 2 : 4;
    parts.lanes.push_back(std::make_unique<ProcessLane>(device, std::move(judge), *pool_, tools, options.spares,
                                                        options.jobs_per_device > 0 ? options.jobs_per_device : usual));
    Describe(*parts.lanes.back(), tools);
  }
  return absl::OkStatus();
}

uint64_t ServicePipeline::judge_deaths() const {
  uint64_t deaths = 0;
  for (const JudgeSupervisor* judge : judges_) deaths += judge->deaths();
  return deaths;
}

uint64_t ServicePipeline::judge_states(sassay::worker::StateOrigin origin) const {
  uint64_t states = 0;
  for (const JudgeSupervisor* judge : judges_) states += judge->states(origin);
  return states;
}

void ServicePipeline::Describe(const Lane& lane, const LaneTools& tools) {
  sassay::v1::DeviceCapability& capability = devices_.emplace_back();
  capability.set_kind(lane.device().kind());
  capability.set_model(lane.device().model());
  if (!lane.emulated()) capability.set_uuid(lane.device().uuid());
  capability.add_archs(lane.device().arch());
  capability.set_multiprocessors(lane.device().multiprocessors());
  capability.set_memory_bytes(lane.device().memory_bytes());
  capability.set_driver_version(lane.device().driver_version());
  if (!lane.emulated()) capability.set_cuda_version(DriverCudaVersion());
  capability.add_stages(sassay::v1::STAGE_ADMISSION);
  capability.add_stages(sassay::v1::STAGE_EVALUATE);
  if (lane.emulated() || !tools.compute_sanitizer.empty())
    capability.add_stages(sassay::v1::STAGE_SANITIZE);
  else
    capability.add_notes("sanitize: UNAVAILABLE (compute-sanitizer not found)");
  if (lane.emulated()) {
    capability.add_stages(sassay::v1::STAGE_EVIDENCE);
    capability.add_notes("timing: UNAVAILABLE (emulated device)");
    for (const std::string& caveat : CaveatsOf(lane)) capability.add_notes(caveat);
  } else {
    capability.add_diagnoses(sassay::v1::DIAGNOSIS_HOTSPOTS);
    if (!tools.ncu.empty()) capability.add_diagnoses(sassay::v1::DIAGNOSIS_NCU);
    if (!tools.cuda_gdb.empty()) capability.add_diagnoses(sassay::v1::DIAGNOSIS_DEBUG);
    capability.add_stages(sassay::v1::STAGE_TIMING);
    if (LocateVendorLibrary(VendorLibrary::kCupti).empty()) {
      capability.add_notes("evidence: UNAVAILABLE (CUPTI not found: pip install nvidia-cuda-cupti)");
    } else {
      capability.add_stages(sassay::v1::STAGE_EVIDENCE);
    }
  }
}

}  // namespace sassay::pipeline
