#include "agent/build/local_builder.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/build/local_verdict.h"
#include "agent/build/toolchain.h"
#include "agent/capture/plan/capture.h"
#include "agent/carried/carried.h"
#include "agent/interop/triton/build_triton.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/bundle/bundle.h"

namespace sassay::agent {
namespace {

// Where user namespaces are denied, Landlock holds compilers and host code; without it somebody must have said that
// they may run all the same.
std::optional<AllowUnsandboxed> UnsandboxedToken(const Settings& settings) {
  if (ProbeSandbox().Complete()) return {};
  if (ProbeSandbox().landlock > 0) return AllowUnsandboxed{"user namespaces are denied", true};
  if (!settings.Switch("allow_unsandboxed")) return {};
  return AllowUnsandboxed{absl::StrCat("allow_unsandboxed from ", settings.Origin("allow_unsandboxed"))};
}

absl::Status WithSandboxAdvice(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kFailedPrecondition || ProbeSandbox().Complete()) return status;
  return absl::FailedPreconditionError(
      absl::StrCat(status.message(),
                   " `mini-ptx-agent doctor` says how to mend it; --builder HOST:PORT has another machine build; "
                   "--allow-unsandboxed goes on without, with your rights."));
}

// Who has no toolkit can have one nevertheless.
absl::StatusOr<Toolchain> ToolchainOrAdvice(const Settings& settings) {
  absl::StatusOr<Toolchain> toolchain = FindConfiguredToolchain(settings);
  if (!absl::IsNotFound(toolchain.status())) return toolchain;
  return absl::NotFoundError(absl::StrCat(toolchain.status().message(),
                                          "; or have another machine compile: --builder HOST:PORT (docs/cluster.md)"));
}

std::string Summary(const std::vector<v1::SourceFile>& sources) {
  if (sources.size() == 1) return sources.front().path();
  return absl::StrCat(sources.size(), " files");
}

v1::EntryAbi ParseAbi(const std::string& text) {
  if (text == "c") return v1::ENTRY_ABI_C;
  return text == "tvm_ffi" ? v1::ENTRY_ABI_TVM_FFI : v1::ENTRY_ABI_UNSPECIFIED;
}

void AddWarnings(const CompiledCandidate& compiled, const v1::Bundle& bundle, std::vector<std::string>& warnings) {
  warnings.insert(warnings.end(), compiled.compilation.warnings().begin(), compiled.compilation.warnings().end());
  if (!compiled.sass_families_missing.empty())
    warnings.push_back(absl::StrCat("SASS families are unknown: ", compiled.sass_families_missing));
  if (!compiled.unsandboxed_reason.empty())
    warnings.push_back(absl::StrCat("compiled without a sandbox: ", compiled.unsandboxed_reason));
  for (const v1::LaunchPlan& plan : bundle.plans()) {
    for (const std::string& warning : plan.warnings()) warnings.push_back(absl::StrCat(plan.workload(), ": ", warning));
  }
}

// Names and SASS families depend on tools that are not part of the compilation.
v1::KernelFacts Canonical(v1::KernelFacts facts) {
  facts.clear_name();
  facts.clear_sass_families();
  return facts;
}

v1::Bundle Assemble(const CompiledCandidate& compiled, const capture::CaptureResult& captured) {
  v1::Bundle bundle;
  *bundle.mutable_compilation() = compiled.compilation;
  bundle.set_cubin(compiled.cubin);
  bundle.set_ptx(compiled.ptx);
  for (const v1::KernelFacts& facts : compiled.kernels) *bundle.add_kernels() = Canonical(facts);
  bundle.mutable_sources()->Add(compiled.sources.begin(), compiled.sources.end());
  bundle.set_source_sha256(SourceDigest(bundle.sources()));
  for (const capture::WorkloadCapture& capture : captured.workloads) *bundle.add_plans() = *capture.plan;
  return bundle;
}

absl::StatusOr<BuiltBundle> Finish(const CompiledCandidate& compiled, const capture::CaptureResult& captured) {
  BuiltBundle built;
  ASSIGN_OR_RETURN(built.bytes, SerializeBundle(Assemble(compiled, captured)));
  ASSIGN_OR_RETURN(built.bundle, ParseBundle(built.bytes));
  built.kernels = compiled.kernels;
  built.compile_cached = compiled.from_cache;
  built.compile_time = compiled.wall;
  built.capture_time = captured.wall;
  AddWarnings(compiled, built.bundle, built.warnings);
  return built;
}

absl::StatusOr<BuiltBundle> FinishTriton(const BuildInput& input, const TritonCandidate& candidate) {
  v1::Bundle bundle;
  *bundle.mutable_compilation() = candidate.compilation;
  bundle.set_cubin(candidate.cubin);
  bundle.set_ptx(candidate.ptx);
  for (const v1::KernelFacts& facts : candidate.kernels) *bundle.add_kernels() = Canonical(facts);
  // As line tables name it, whatever the file is called here.
  *bundle.add_sources() = input.sources.front();
  bundle.mutable_sources(0)->set_path("kernel.py");
  bundle.set_source_sha256(SourceDigest(bundle.sources()));
  bundle.mutable_plans()->Add(candidate.plans.begin(), candidate.plans.end());
  BuiltBundle built;
  ASSIGN_OR_RETURN(built.bytes, SerializeBundle(std::move(bundle)));
  ASSIGN_OR_RETURN(built.bundle, ParseBundle(built.bytes));
  built.kernels = candidate.kernels;
  built.compile_time = candidate.compile_time;
  built.capture_time = candidate.capture_time;
  if (!candidate.sass_families_missing.empty())
    built.warnings.push_back(absl::StrCat("SASS families are unknown: ", candidate.sass_families_missing));
  for (const v1::LaunchPlan& plan : built.bundle.plans()) {
    for (const std::string& warning : plan.warnings())
      built.warnings.push_back(absl::StrCat(plan.workload(), ": ", warning));
  }
  return built;
}

// Takes out what failed behind the first `required` ones; answers what to say about it.
std::vector<std::string> DropUnwelcome(size_t required, capture::CaptureResult& captured) {
  std::vector<std::string> warnings;
  for (size_t i = captured.workloads.size(); i > required; --i) {
    const capture::WorkloadCapture& outcome = captured.workloads[i - 1];
    if (outcome.captured()) continue;
    warnings.push_back(
        absl::StrCat("no plan for the sanitize shape ", outcome.workload, ": ", outcome.verdict.reason()));
    captured.workloads.erase(captured.workloads.begin() + static_cast<ptrdiff_t>(i - 1));
  }
  return warnings;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Builder>> LocalBuilder::Make(const Settings& settings,
                                                            const std::map<std::string, std::string>& environment) {
  std::unique_ptr<LocalBuilder> builder(new LocalBuilder());
  CompilerOptions& compiler = builder->compiler_;
  ASSIGN_OR_RETURN(compiler.toolchain, ToolchainOrAdvice(settings));
  compiler.timeout = settings.Duration("compile_deadline", compiler.timeout);
  compiler.cache_directory = CacheFolder(settings, environment);
  ASSIGN_OR_RETURN(builder->programs_, UnpackCarried(compiler.cache_directory));
  compiler.unsandboxed = UnsandboxedToken(settings);
  builder->arch_ = settings.Text("arch");
  builder->abi_ = ParseAbi(settings.Text("abi"));
  if (settings.Text("profile") == "lenient") builder->profile_ = v1::CAPTURE_PROFILE_LENIENT;
  builder->device_model_ = settings.Text("device");
  builder->triton_environment_ = settings.Text("triton_venv");
  builder->autotune_config_ = static_cast<uint32_t>(settings.Count("autotune_config"));
  const std::string& table = settings.Text("device_table");
  if (!table.empty()) {
    ASSIGN_OR_RETURN(builder->device_table_, capture::DeviceTable::Load({table}));
  }
  const capture::DeviceTable& known =
      builder->device_table_.has_value() ? *builder->device_table_ : capture::DeviceTable::BuiltIn();
  RETURN_IF_ERROR(known.Find(builder->device_model_, builder->arch_).status());
  return builder;
}

absl::Status LocalBuilder::CheckLanguage(absl::string_view language) const {
  return language == "triton" ? FindTriton(triton_environment_).status() : absl::OkStatus();
}

absl::StatusOr<BuildOutcome> LocalBuilder::Build(const BuildInput& input, const BuildListener& listener) const {
  if (IsTritonCandidate(input.sources)) return BuildFromTriton(input, listener);
  const absl::Time begin = SteadyNow();
  ASSIGN_OR_RETURN(CompileOutcome outcome, Compile(input, listener));
  if (auto* verdict = std::get_if<v1::Verdict>(&outcome)) {
    listener.on_end("failed", "");
    verdict->mutable_versions()->set_toolkit(compiler_.toolchain.version);
    CompleteLocalVerdict(input.workloads.front(), {SteadyNow() - begin, absl::ZeroDuration()}, absl::Now(), *verdict);
    return BuildOutcome(std::move(*verdict));
  }
  const CompiledCandidate& compiled = std::get<CompiledCandidate>(outcome);
  listener.on_end("passed", compiled.from_cache ? "from the cache" : "");
  return Capture(input, compiled, listener);
}

absl::StatusOr<CompileOutcome> LocalBuilder::Compile(const BuildInput& input, const BuildListener& listener) const {
  CompileRequest request;
  request.sources = input.sources;
  request.arch = arch_;
  request.include_directories = input.include_directories;
  request.defines = input.defines;
  listener.on_begin("compile", absl::StrCat(Summary(request.sources), " for ", request.arch));
  absl::StatusOr<CompileOutcome> outcome = Compiler(compiler_).Compile(request);
  if (!outcome.ok()) return WithSandboxAdvice(outcome.status());
  return outcome;
}

absl::StatusOr<BuildOutcome> LocalBuilder::Capture(const BuildInput& input, const CompiledCandidate& compiled,
                                                   const BuildListener& listener) const {
  const std::vector<v1::Workload>& workloads = input.workloads;
  capture::CaptureRequest request;
  request.program_directory = programs_ / "bin";
  request.shared_object = compiled.shared_object;
  request.cubin = compiled.cubin;
  request.workloads = workloads;
  request.workloads.insert(request.workloads.end(), input.welcome.begin(), input.welcome.end());
  request.abi = abi_;
  request.profile = profile_;
  request.device_model = device_model_;
  request.device_table = device_table_.has_value() ? &*device_table_ : nullptr;
  request.tvm_ffi_library = capture::TvmFfiLibrary(compiler_.toolchain.tvm_ffi_include);
  if (compiler_.unsandboxed.has_value()) request.allow_unsandboxed = *compiler_.unsandboxed;
  listener.on_begin("capture",
                    workloads.size() == 1 ? workloads.front().name() : absl::StrCat(workloads.size(), " workloads"));
  absl::StatusOr<capture::CaptureResult> captured = capture::Capture(request);
  if (!captured.ok()) return WithSandboxAdvice(captured.status());
  const std::vector<std::string> unwelcome = DropUnwelcome(workloads.size(), *captured);
  for (size_t i = 0; i < workloads.size(); ++i) {
    capture::WorkloadCapture& outcome = captured->workloads[i];
    if (outcome.captured()) continue;
    listener.on_end("failed", outcome.workload);
    outcome.verdict.mutable_versions()->set_toolkit(compiled.compilation.toolkit_version());
    CompleteLocalVerdict(workloads[i], {compiled.wall, captured->wall}, absl::Now(), outcome.verdict);
    return BuildOutcome(std::move(outcome.verdict));
  }
  listener.on_end("passed", "");
  ASSIGN_OR_RETURN(BuiltBundle built, Finish(compiled, *captured));
  built.warnings.insert(built.warnings.end(), unwelcome.begin(), unwelcome.end());
  return BuildOutcome(std::move(built));
}

absl::StatusOr<BuildOutcome> LocalBuilder::BuildFromTriton(const BuildInput& input,
                                                           const BuildListener& listener) const {
  const absl::Time begin = SteadyNow();
  const capture::DeviceTable& table = device_table_.has_value() ? *device_table_ : capture::DeviceTable::BuiltIn();
  TritonRequest request;
  request.source = input.sources.front().content();
  request.arch = arch_;
  request.workloads = input.workloads;
  request.toolchain = compiler_.toolchain;
  request.timeout = compiler_.timeout;
  request.unsandboxed = compiler_.unsandboxed;
  request.autotune_config = autotune_config_;
  ASSIGN_OR_RETURN(request.installation, FindTriton(triton_environment_));
  ASSIGN_OR_RETURN(request.device, table.Find(device_model_, arch_));
  listener.on_begin("compile", absl::StrCat(Summary(input.sources), " by Triton for ", arch_));
  absl::StatusOr<TritonOutcome> outcome = BuildTriton(request);
  if (!outcome.ok()) return WithSandboxAdvice(outcome.status());
  auto* verdict = std::get_if<v1::Verdict>(&*outcome);
  listener.on_end(verdict == nullptr ? "passed" : "failed", "");
  if (verdict == nullptr) return FinishTriton(input, std::get<TritonCandidate>(*outcome));
  const bool captured = verdict->stage() == v1::STAGE_CAPTURE;
  const absl::Duration wall = SteadyNow() - begin;
  CompleteLocalVerdict(input.workloads.front(),
                       {captured ? absl::ZeroDuration() : wall, captured ? wall : absl::ZeroDuration()}, absl::Now(),
                       *verdict);
  return BuildOutcome(std::move(*verdict));
}

}  // namespace sassay::agent
