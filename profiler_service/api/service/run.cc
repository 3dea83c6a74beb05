#include "profiler_service/api/service/run.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/files.h"
#include "common/base/proto_json.h"
#include "common/base/scratch.h"
#include "common/base/status_macros.h"
#include "common/metrics/service_metrics.h"
#include "common/process/crash_report.h"
#include "common/process/stop_signal.h"
#include "common/terminal/log.h"
#include "common/workload/catalog.h"
#include "profiler_service/api/auth/tokens.h"
#include "profiler_service/api/builder/builder_server.h"
#include "profiler_service/api/host/host_report.h"
#include "profiler_service/api/service/node_backing.h"
#include "profiler_service/api/service/options.h"
#include "profiler_service/api/service/server.h"
#include "profiler_service/api/service/start_pipeline.h"
#include "profiler_service/builder/compiler_program.h"
#include "profiler_service/pipeline/service_pipeline.h"
#include "profiler_service/store/open_store.h"
#include "profiler_service/telemetry/hub.h"
#include "profiler_service/verdict/verdict.h"
#include "spdlog/spdlog.h"

namespace sassay::api {
namespace {

constexpr mode_t kPortFileMode = 0644;  // others must find the service
constexpr int kAuditPage = 1000;

std::vector<MetricSource> MetricsOf(const pipeline::ServicePipeline& pipeline) {
  std::vector<MetricSource> sources = {
      {&metrics::kJudgeDeaths, [&pipeline] { return static_cast<double>(pipeline.judge_deaths()); }},
      {&metrics::kRunnerDeaths, [&pipeline] { return static_cast<double>(pipeline.runner_deaths()); }}};
  for (const auto& [name, origin] :
       {std::pair("kept", sassay::worker::STATE_ORIGIN_KEPT), std::pair("made", sassay::worker::STATE_ORIGIN_MADE)}) {
    sources.push_back({&metrics::kJudgeStates,
                       [&pipeline, origin = origin] { return static_cast<double>(pipeline.judge_states(origin)); },
                       {name}});
  }
  for (int number = 0; number < sassay::worker::RunMode_ARRAYSIZE; ++number) {
    const auto mode = static_cast<sassay::worker::RunMode>(number);
    if (!sassay::worker::RunMode_IsValid(number) || mode == sassay::worker::RUN_MODE_UNSPECIFIED) continue;
    sources.push_back({&metrics::kRunnersStarted,
                       [&pipeline, mode] { return static_cast<double>(pipeline.started_runners().Total(mode)); },
                       {EnumName(mode)}});
  }
  return sources;
}

// `pipeline` is null at a front end.
ServiceFacts FactsOf(const ServiceOptions& options, pipeline::ServicePipeline* pipeline, telemetry::Hub& telemetry) {
  ServiceFacts facts;
  facts.capabilities.set_sassay_version(SASSAY_VERSION);
  facts.capabilities.set_rules_version(std::string(verdict::kRulesVersion));
  facts.capabilities.set_default_sanitize(options.sanitize);
  facts.telemetry = &telemetry;
  if (pipeline == nullptr) return facts;
  facts.capabilities.set_provenance_toolkit(pipeline->provenance_toolkit());
  for (const sassay::v1::DeviceCapability& device : pipeline->devices()) *facts.capabilities.add_devices() = device;
  facts.settings_sha256 = pipeline->settings_sha256();
  facts.gpus = &pipeline->gpus();
  facts.metrics = MetricsOf(*pipeline);
  return facts;
}

// Once a process, with the state folder taken: nobody else writes the report.
absl::StatusOr<absl::optional<queue::PreviousProcess>> AskHowThePreviousProcessEnded(const StateFolder& state) {
  const std::filesystem::path file = state.path() / "crash_report";
  const bool first = !std::filesystem::exists(file);
  ASSIGN_OR_RETURN(const std::string report, BeginCrashReport(file));
  if (first) return absl::optional<queue::PreviousProcess>();
  if (report.empty()) return queue::PreviousProcess::kEndedOrWasKilled;
  spdlog::error("the service crashed before this start; {}/crash_report.last has the stack", state.path().string());
  return queue::PreviousProcess::kCrashed;
}

absl::Status CheckBacking(const ServiceOptions& options) {
  if (options.role == ServiceRole::kNode) return absl::OkStatus();
  RETURN_IF_ERROR(store::CheckStoreAddress(options.store));
  return store::CheckBlobAddress(options.blobs_place, options.store);
}

template <typename AnyServer>
absl::Status Announce(const ServiceOptions& options, const AnyServer& server) {
  if (!options.port_file.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(options.port_file, absl::StrCat(server.port(), "\n"), kPortFileMode));
  }
  std::cout << "listen=" << server.address() << " metrics=" << server.metrics_address() << std::endl;
  return absl::OkStatus();
}

builder::ProgramOptions ProgramOptionsOf(const ServiceOptions& options, const std::filesystem::path& scratch) {
  builder::ProgramOptions program;
  program.scratch = scratch;
  program.cache = std::filesystem::path(options.state) / "cache";
  program.cuda_home = options.cuda_home;
  program.allow_unsandboxed = options.allow_unsandboxed;
  program.deadline = options.build.deadline;
  return program;
}

absl::Status ServeBuilds(const ServiceOptions& options) {
  CatchFatalSignals();
  CatchStopSignals(SecondStopSignal::kExitsAtOnce, 1);
  ASSIGN_OR_RETURN(const StateFolder state, StateFolder::Take(options.state));
  ASSIGN_OR_RETURN(const Scratch scratch, Scratch::Create(state.path() / "scratch"));
  ASSIGN_OR_RETURN(const auto program, builder::CompilerProgram::Open(ProgramOptionsOf(options, scratch.path())));
  const BuildJobRunner run = [&program](const sassay::v1::BuildJob& job, absl::string_view tenant,
                                        const StopAsked& stop) { return program.Build(job, tenant, stop); };
  ASSIGN_OR_RETURN(const auto server, BuilderServer::Start(options, run, program.toolkit_version()));
  RETURN_IF_ERROR(Announce(options, *server));
  WaitForStopSignal();
  spdlog::info("stopping: running builds have {} to end", absl::FormatDuration(options.drain));
  server->Shutdown();
  return absl::OkStatus();
}

absl::Status Serve(const ServiceOptions& options) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (options.role == ServiceRole::kBuilder) return ServeBuilds(options);
  RETURN_IF_ERROR(CheckBacking(options));
  CatchFatalSignals();
  CatchStopSignals(SecondStopSignal::kExitsAtOnce, 1);
  ASSIGN_OR_RETURN(StateFolder state, StateFolder::Take(options.state));
  ASSIGN_OR_RETURN(const Scratch scratch, Scratch::Create(state.path() / "scratch"));
  setenv("TMPDIR", scratch.path().c_str(), 1);  // every TemporaryDirectory lies there
  ASSIGN_OR_RETURN(const WorkloadCatalog catalog, WorkloadCatalog::Load(WorkloadFolders(options)));
  telemetry::Hub telemetry;
  std::unique_ptr<pipeline::ServicePipeline> pipeline;
  if (options.role != ServiceRole::kFrontEnd) {
    ASSIGN_OR_RETURN(pipeline, StartPipeline(options, catalog, &telemetry));
  }
  JobRunner* const runner = pipeline == nullptr ? nullptr : &pipeline->runner();
  ServiceFacts facts = FactsOf(options, pipeline.get(), telemetry);
  ASSIGN_OR_RETURN(facts.previous, AskHowThePreviousProcessEnded(state));
  std::unique_ptr<Backing> backing;
  if (options.role == ServiceRole::kNode) {
    ASSIGN_OR_RETURN(backing, OpenNodeBacking(options, facts, runner->concurrency(), StopSignalCame));
  } else {
    ASSIGN_OR_RETURN(backing, OpenOwnBacking(options));
  }
  const auto server = Server::Start(options, std::move(state), std::move(backing), runner, catalog, std::move(facts));
  if (absl::IsCancelled(server.status())) return absl::OkStatus();  // told to end before it had begun
  RETURN_IF_ERROR(server.status());
  RETURN_IF_ERROR(Announce(options, **server));
  WaitForStopSignal();
  spdlog::info("stopping: running work has {} to end", absl::FormatDuration(options.drain));
  (*server)->Shutdown();
  return absl::OkStatus();
}

absl::Status AddTokenAndPrint(const CommandLine& line) {
  ASSIGN_OR_RETURN(const Role role, RoleFromName(line.token_role));
  ASSIGN_OR_RETURN(const std::string token, AddToken(line.options.token_file, line.token_name, role));
  std::cout << token << std::endl;
  std::cerr << "the token of " << line.token_name << " (" << line.token_role
            << "); it is shown this once. Give it to mini-ptx-agent with --token-file.\n";
  return absl::OkStatus();
}

absl::Status ListTokens(const CommandLine& line) {
  ASSIGN_OR_RETURN(const std::string content, ReadFile(line.options.token_file));
  ASSIGN_OR_RETURN(const std::vector<TokenEntry> entries, ParseTokenFile(content));
  for (const TokenEntry& entry : entries) {
    std::cout << entry.name << " " << RoleName(entry.role) << " sha256:" << entry.sha256.substr(0, 12) << "...\n";
  }
  return absl::OkStatus();
}

absl::Status PrintAuditLog(const CommandLine& line) {
  for (uint64_t after = line.audit_after;;) {
    ASSIGN_OR_RETURN(const std::vector<store::AuditRecord> records,
                     store::ReadAuditLogOf(line.options.store, after, kAuditPage));
    if (records.empty()) return absl::OkStatus();
    after = records.back().sequence;
    for (const store::AuditRecord& record : records) {
      std::cout << record.sequence << "\t" << absl::FormatTime(record.at, absl::UTCTimeZone());
      for (const std::string* text : {&record.actor, &record.action, &record.target, &record.outcome, &record.detail}) {
        std::cout << "\t" << absl::CEscape(*text);
      }
      std::cout << "\n";
    }
  }
}

// What a builder needs is what the agent needs.
absl::Status CheckBuilder(const CommandLine& line) {
  if (line.json)
    return absl::InvalidArgumentError("--json: a builder's report is that of `mini-ptx-agent doctor --json`");
  ASSIGN_OR_RETURN(const TemporaryDirectory scratch, TemporaryDirectory::Create("check"));
  ASSIGN_OR_RETURN(const auto program, builder::CompilerProgram::Open(ProgramOptionsOf(line.options, scratch.path())));
  std::cout << "can build candidates: CUDA " << program.toolkit_version() << ", sandbox, capture; "
            << line.options.build.places << " at once" << std::endl;
  return absl::OkStatus();
}

// People see the whole report before the exit status says it in short.
absl::Status CheckHost(const CommandLine& line) {
  if (line.options.role == ServiceRole::kBuilder) return CheckBuilder(line);
  if (line.options.role == ServiceRole::kFrontEnd) {
    return absl::InvalidArgumentError("--check looks for GPUs, driver and tools, which a front end does without");
  }
  HostFacts facts = GatherHostFacts(line.options);
  if (line.options.role == ServiceRole::kNode) facts.joins = cluster::TryJoin(FrontEndOptionsOf(line.options));
  const sassay::v1::HostReport report = ReportOnHost(line.options, facts);
  std::cout << (line.json ? absl::StrCat(ToJson(report), "\n") : RenderHostReport(report)) << std::flush;
  return report.can_judge() ? absl::OkStatus() : absl::FailedPreconditionError("candidates cannot be judged here");
}

absl::Status Run(const CommandLine& line) {
  switch (line.kind) {
    case CommandKind::kServe:
      return Serve(line.options);
    case CommandKind::kTokenAdd:
      return AddTokenAndPrint(line);
    case CommandKind::kTokenRevoke:
      return RevokeTokens(line.options.token_file, line.token_name);
    case CommandKind::kTokenList:
      return ListTokens(line);
    case CommandKind::kAudit:
      return PrintAuditLog(line);
    case CommandKind::kCheck:
      return CheckHost(line);
    case CommandKind::kExit:
      break;
  }
  return absl::OkStatus();
}

}  // namespace

int RunProfilerService(int argc, const char* const* argv) {
  // Whatever is written here belongs to tenants; a file for others says so.
  umask(077);
  LogToStandardError("profiler-service");
  // What gRPC has to say comes back as a Status; its own lines are for its developers.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  const CommandLine line = ParseCommandLine(argc, argv);
  if (line.kind == CommandKind::kExit) return line.exit_code;
  const absl::Status status = Run(line);
  if (status.ok()) return 0;
  std::cerr << "profiler-service: " << status.message() << "\n";
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

}  // namespace sassay::api
