#include <algorithm>
#include <filesystem>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "agent/capture/plan/capture.h"
#include "agent/cli/build/candidate.h"
#include "agent/cli/build/local_verdict.h"
#include "agent/cli/build/toolchain.h"
#include "agent/compile/compiler.h"
#include "agent/compile/sources.h"
#include "agent/render/text.h"
#include "agent/submit/interrupt.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "common/process/subprocess.h"

namespace sassay::agent {
namespace {

template <typename Optional>
Optional UnsandboxedToken(const Settings& settings) {
  if (!settings.Switch("allow_unsandboxed") || ProbeSandbox().Complete()) return {};
  return AllowUnsandboxed{absl::StrCat("allow_unsandboxed from ", settings.Origin("allow_unsandboxed"))};
}

absl::Status WithSandboxAdvice(const absl::Status& status) {
  if (status.code() != absl::StatusCode::kFailedPrecondition || ProbeSandbox().Complete()) return status;
  return absl::FailedPreconditionError(absl::StrCat(
      status.message(),
      " `mini-ptx-agent doctor` says how to mend it; --allow-unsandboxed goes on without, with your rights."));
}

std::string Summary(const std::vector<v1::SourceFile>& sources) {
  if (sources.size() == 1) return sources.front().path();
  return absl::StrCat(sources.size(), " files");
}

v1::EntryAbi ParseAbi(const std::string& text) {
  if (text == "c") return v1::ENTRY_ABI_C;
  return text == "tvm_ffi" ? v1::ENTRY_ABI_TVM_FFI : v1::ENTRY_ABI_UNSPECIFIED;
}

// As the user's working folder has them; the sandbox has another one.
std::vector<std::string> Absolute(const std::string& working_directory, std::vector<std::string> folders) {
  for (std::string& folder : folders) {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::path(working_directory) / folder;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    folder = (error ? std::filesystem::absolute(path) : real).string();
  }
  return folders;
}

absl::StatusOr<CompileOutcome> Compile(Session& session, const CandidateArguments& arguments,
                                       const Toolchain& toolchain) {
  const Settings& settings = session.settings();
  CompileRequest request;
  ASSIGN_OR_RETURN(request.sources, LoadSources(arguments.paths));
  request.arch = settings.Text("arch");
  request.include_directories = Absolute(session.terminal().working_directory, arguments.include_directories);
  request.defines = arguments.defines;
  CompilerOptions options;
  options.toolchain = toolchain;
  options.timeout = settings.Duration("compile_deadline", options.timeout);
  options.cache_directory = CacheFolder(session);
  options.unsandboxed = UnsandboxedToken<std::optional<AllowUnsandboxed>>(settings);
  session.progress().Begin("compile", absl::StrCat(Summary(request.sources), " for ", request.arch));
  absl::StatusOr<CompileOutcome> outcome = Compiler(std::move(options)).Compile(request);
  if (!outcome.ok()) return WithSandboxAdvice(outcome.status());
  return outcome;
}

// One candidate on its way from shared object to plans.
class CaptureStep {
 public:
  CaptureStep(Session& session, const Toolchain& toolchain, const CompiledCandidate& compiled)
      : session_(session), toolchain_(toolchain), compiled_(compiled) {}

  absl::StatusOr<capture::CaptureResult> Run(const std::vector<v1::Workload>& workloads) {
    const Settings& settings = session_.settings();
    capture::CaptureRequest request;
    request.shared_object = compiled_.shared_object;
    request.cubin = compiled_.cubin;
    request.workloads = workloads;
    request.abi = ParseAbi(settings.Text("abi"));
    request.profile = settings.Text("profile") == "lenient" ? v1::CAPTURE_PROFILE_LENIENT : v1::CAPTURE_PROFILE_STRICT;
    request.device_model = settings.Text("device");
    RETURN_IF_ERROR(LoadDeviceTable(settings.Text("device_table")));
    request.device_table = table_.has_value() ? &*table_ : nullptr;
    request.tvm_ffi_library = capture::TvmFfiLibrary(toolchain_.tvm_ffi_include);
    request.allow_unsandboxed = UnsandboxedToken<absl::optional<AllowUnsandboxed>>(settings);
    absl::StatusOr<capture::CaptureResult> result = capture::Capture(request);
    if (!result.ok()) return WithSandboxAdvice(result.status());
    return result;
  }

 private:
  absl::Status LoadDeviceTable(const std::string& path) {
    if (path.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(table_, capture::DeviceTable::Load({path}));
    return absl::OkStatus();
  }

  Session& session_;
  const Toolchain& toolchain_;
  const CompiledCandidate& compiled_;
  absl::optional<capture::DeviceTable> table_;
};

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

absl::StatusOr<BuildOutcome> CaptureAll(Session& session, const Toolchain& toolchain, const CompiledCandidate& compiled,
                                        const std::vector<v1::Workload>& workloads,
                                        const std::vector<v1::Workload>& welcome) {
  session.progress().Begin(
      "capture", workloads.size() == 1 ? workloads.front().name() : absl::StrCat(workloads.size(), " workloads"));
  std::vector<v1::Workload> all = workloads;
  all.insert(all.end(), welcome.begin(), welcome.end());
  ASSIGN_OR_RETURN(capture::CaptureResult captured, CaptureStep(session, toolchain, compiled).Run(all));
  const std::vector<std::string> unwelcome = DropUnwelcome(workloads.size(), captured);
  for (size_t i = 0; i < workloads.size(); ++i) {
    capture::WorkloadCapture& outcome = captured.workloads[i];
    if (outcome.captured()) continue;
    session.progress().End("failed", outcome.workload);
    outcome.verdict.mutable_versions()->set_toolkit(compiled.compilation.toolkit_version());
    CompleteLocalVerdict(workloads[i], {compiled.wall, captured.wall}, absl::Now(), outcome.verdict);
    return BuildOutcome(std::move(outcome.verdict));
  }
  session.progress().End("passed");
  ASSIGN_OR_RETURN(BuiltBundle built, Finish(compiled, captured));
  built.warnings.insert(built.warnings.end(), unwelcome.begin(), unwelcome.end());
  return BuildOutcome(std::move(built));
}

}  // namespace

absl::StatusOr<BuildOutcome> BuildBundle(Session& session, const CandidateArguments& arguments,
                                         const std::vector<v1::Workload>& workloads,
                                         const std::vector<v1::Workload>& welcome) {
  const auto spinner = session.interactive() ? std::make_unique<Spinner>(session.progress()) : nullptr;
  ASSIGN_OR_RETURN(const Toolchain toolchain, FindConfiguredToolchain(session.settings()));
  // What lies in temporary folders goes away as the stack unwinds.
  const InterruptHandler interrupts([](int) { CancelEveryRun(); });
  const absl::Time begin = absl::Now();
  ASSIGN_OR_RETURN(CompileOutcome outcome, Compile(session, arguments, toolchain));
  if (auto* verdict = std::get_if<v1::Verdict>(&outcome)) {
    session.progress().End("failed");
    verdict->mutable_versions()->set_toolkit(toolchain.version);
    CompleteLocalVerdict(workloads.front(), {absl::Now() - begin, absl::ZeroDuration()}, absl::Now(), *verdict);
    return BuildOutcome(std::move(*verdict));
  }
  const CompiledCandidate& compiled = std::get<CompiledCandidate>(outcome);
  session.progress().End("passed", compiled.from_cache ? "from the cache" : "");
  return CaptureAll(session, toolchain, compiled, workloads, welcome);
}

}  // namespace sassay::agent
