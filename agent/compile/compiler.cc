#include "agent/compile/compiler.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "agent/compile/cache/cache_key.h"
#include "agent/compile/cache/compile_cache.h"
#include "agent/compile/facts.h"
#include "agent/compile/messages/diagnostics.h"
#include "agent/compile/messages/failure.h"
#include "agent/compile/nvcc_plan.h"
#include "agent/compile/sources.h"
#include "agent/compile/staging.h"
#include "agent/knowledge/ptx_headers.h"
#include "common/base/status_macros.h"
#include "common/sass/disassembly.h"
#include "common/toolchain/library_versions.h"
#include "common/toolchain/ptxas.h"

namespace sassay {
namespace {

using sassay::v1::Compilation;
using sassay::v1::Diagnostic;
using sassay::v1::Verdict;

constexpr uint64_t kOutputLimit = 1 << 20;

absl::Status CheckDefine(const std::string& define) {
  size_t end = define.find('=');
  std::string name = define.substr(0, end);
  bool good = !name.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) &&
              std::all_of(name.begin(), name.end(), [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
  for (unsigned char c : define) good = good && absl::ascii_isprint(c);
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("define \"", define, "\": expected NAME or NAME=VALUE"));
}

bool IncludesTvmFfi(const CompileRequest& request) {
  return std::any_of(request.sources.begin(), request.sources.end(),
                     [](const auto& source) { return absl::StrContains(source.content(), "<tvm/ffi/"); });
}

// Whose host code the recording runtime answers (agent/capture/runtime). CUDA 11 has other symbols; what comes after 13
// is not known.
constexpr const char* kCapturedReleases[] = {"12", "13"};

// The release whose tools know an architecture first: release notes of CUDA 12.0 (PTX ISA 8.0) and 12.8.
struct FirstRelease {
  const char* arch;
  const char* release;
};
constexpr FirstRelease kFirstReleases[] = {{"sm_90a", "12.0"}, {"sm_100a", "12.8"}};

absl::Status CheckToolkit(const std::string& arch, const std::string& version) {
  const bool captured =
      std::any_of(std::begin(kCapturedReleases), std::end(kCapturedReleases),
                  [&](const char* release) { return absl::StartsWith(version, absl::StrCat(release, ".")); });
  if (!captured) {
    return absl::FailedPreconditionError(absl::StrCat("candidates of CUDA ", version, " cannot be captured: CUDA ",
                                                      absl::StrJoin(kCapturedReleases, " and "),
                                                      " can. Name a toolkit of those with --cuda or --cuda-home"));
  }
  for (const auto& [known, release] : kFirstReleases) {
    if (arch != known || !IsLaterVersion(release, version)) continue;
    return absl::FailedPreconditionError(absl::StrCat("CUDA ", version, " does not know ", arch, "; CUDA ", release,
                                                      " is the first that does. Name a newer toolkit with --cuda or "
                                                      "--cuda-home"));
  }
  return absl::OkStatus();
}

// Missing tools and headers are the machine's trouble, not the candidate's.
absl::Status CheckMachine(const CompileRequest& request, const Toolchain& toolchain) {
  if (toolchain.nvcc.empty()) {
    return absl::FailedPreconditionError(
        "no nvcc beside ptxas: set SASSAY_CUDA_HOME to a whole toolkit, or run bash deploy/install_dependencies.sh");
  }
  if (!FindProgram("/usr/bin/g++").ok() || !FindProgram("/usr/bin/gcc").ok()) {
    return absl::FailedPreconditionError(
        "nvcc needs a host compiler, and there is no /usr/bin/g++: apt-get install g++");
  }
  if (IncludesTvmFfi(request) && toolchain.tvm_ffi_include.empty() && request.include_directories.empty()) {
    return absl::FailedPreconditionError(
        "the candidate includes tvm_ffi headers, which are not on this machine: "
        ".venv/bin/pip install --no-deps apache-tvm-ffi, or name their folder with -I");
  }
  return absl::OkStatus();
}

absl::Status CheckRequest(const CompileRequest& request, const Toolchain& toolchain) {
  RETURN_IF_ERROR(CheckSources(request.sources));
  for (const auto& define : request.defines) RETURN_IF_ERROR(CheckDefine(define));
  for (const auto& folder : request.include_directories) {
    if (!std::filesystem::path(folder).is_absolute())
      return absl::InvalidArgumentError(absl::StrCat("include folder ", folder, ": expected an absolute path"));
    if (!std::filesystem::is_directory(folder)) return absl::NotFoundError(absl::StrCat("no include folder ", folder));
  }
  RETURN_IF_ERROR(CheckMachine(request, toolchain));
  return CheckToolkit(request.arch, toolchain.version);
}

// One compilation from beginning to end.
class Run {
 public:
  Run(const CompileRequest& request, const CompilerOptions& options, Staging staging)
      : request_(request), options_(options), staging_(std::move(staging)), context_(staging_.Messages()) {
    marker_ = absl::StrCat("@@sassay-", absl::Hex(std::random_device()(), absl::kZeroPad8),
                           absl::Hex(std::random_device()(), absl::kZeroPad8));
  }

  absl::StatusOr<CompileOutcome> Compile() {
    RETURN_IF_ERROR(Plan());
    if (!verdict_) RETURN_IF_ERROR(RunSteps(plan_.before_ptxas));
    if (!verdict_) RETURN_IF_ERROR(Assemble());
    if (!verdict_) RETURN_IF_ERROR(RunSteps(plan_.after_ptxas));
    if (verdict_) {
      verdict_->mutable_versions()->set_toolkit(options_.toolchain.version);
      return *std::move(verdict_);
    }
    return Finish();
  }

 private:
  absl::Duration Left() const { return std::max(absl::ZeroDuration(), options_.timeout - Elapsed()); }
  absl::Duration Elapsed() const { return absl::Now() - started_; }

  absl::Status Plan() {
    std::vector<std::string> argv = staging_.NvccArguments();
    argv.insert(argv.begin(), {staging_.Nvcc(), "--dryrun"});
    ASSIGN_OR_RETURN(Command command, staging_.Wrap(argv));
    ASSIGN_OR_RETURN(ExitReport report, RunToCompletion(command, Left(), kOutputLimit));
    RETURN_IF_ERROR(SandboxFailure(report));
    // It only prints, so no source makes it die; a shell of the sandbox may say so in its stead (128 + signal).
    if (report.kind == ExitReport::Kind::kSignaled || report.exit_code > 128)
      return absl::UnavailableError(absl::StrCat("nvcc --dryrun was ", DescribeExit(report)));
    if (report.kind == ExitReport::Kind::kTimedOut) {
      verdict_ = TimeoutVerdict(NvccTool::kFrontEnd, options_.timeout, Elapsed());
    } else if (!report.Succeeded()) {
      RETURN_IF_ERROR(Fail(NvccTool::kFrontEnd, report.exit_code, report.stderr_text));
    } else {
      ASSIGN_OR_RETURN(plan_, ParseNvccPlan(report.stderr_text));
    }
    return absl::OkStatus();
  }

  absl::Status RunSteps(const std::vector<NvccStep>& steps) {
    ASSIGN_OR_RETURN(Command command, staging_.Wrap({"/bin/sh", "-c", MakeScript(plan_, steps, marker_)}));
    ASSIGN_OR_RETURN(ExitReport report, RunToCompletion(command, Left(), kOutputLimit));
    std::vector<StepOutput> outputs = SplitOutput(WholeText(report), marker_);
    NvccTool last =
        outputs.empty() || outputs.back().step >= steps.size() ? NvccTool::kFrontEnd : steps[outputs.back().step].tool;
    if (report.kind == ExitReport::Kind::kTimedOut) {
      verdict_ = TimeoutVerdict(last, options_.timeout, Elapsed());
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(SandboxFailure(report));
    if (outputs.empty())
      return absl::UnavailableError(
          absl::StrCat("the compile sandbox did not start: ", DescribeExit(report), ": ", report.stderr_text));
    for (const auto& output : outputs) Note(steps[std::min(output.step, steps.size() - 1)].tool, output.text);
    if (report.Succeeded()) return absl::OkStatus();
    int status = outputs.back().status != 0 ? outputs.back().status : StatusOf(report);
    return Fail(last, status, outputs.back().text);
  }

  absl::Status Assemble() {
    ASSIGN_OR_RETURN(ptx_, staging_.ReadBuilt(plan_.ptx_file));
    context_.ptx = ptx_;
    compilation_ = MakeCompilation();
    const AllowUnsandboxed* unsandboxed = options_.unsandboxed ? &*options_.unsandboxed : nullptr;
    ASSIGN_OR_RETURN(Assembly assembly, AssemblePtx(options_.toolchain, compilation_, ptx_, Left(), unsandboxed));
    ptxas_output_ = std::move(assembly.report.stderr_text);
    Note(NvccTool::kPtxas, ptxas_output_);
    if (assembly.report.kind == ExitReport::Kind::kTimedOut) {
      verdict_ = TimeoutVerdict(NvccTool::kPtxas, options_.timeout, Elapsed());
    } else if (!assembly.report.Succeeded()) {
      RETURN_IF_ERROR(Fail(NvccTool::kPtxas, StatusOf(assembly.report), ptxas_output_));
    } else {
      cubin_ = std::move(assembly.cubin);
      return staging_.WriteBuilt(plan_.cubin_file, cubin_);
    }
    return absl::OkStatus();
  }

  // After a flood of warnings the error stands at the end.
  static std::string WholeText(const ExitReport& report) {
    return report.stderr_tail.empty() ? report.stderr_text : absl::StrCat(report.stderr_text, "\n", report.stderr_tail);
  }

  static int StatusOf(const ExitReport& report) {
    return report.kind == ExitReport::Kind::kSignaled ? 128 + report.signal_number : report.exit_code;
  }

  Compilation MakeCompilation() const {
    Compilation compilation;
    compilation.set_arch(request_.arch);
    compilation.set_toolkit_version(options_.toolchain.version);
    for (auto& option : staging_.RecordedOptions()) compilation.add_options(std::move(option));
    for (auto& option : DefaultPtxasOptions()) compilation.add_ptxas_options(std::move(option));
    return compilation;
  }

  void Note(NvccTool tool, absl::string_view text) {
    for (auto& diagnostic : ParseDiagnostics(tool, text, context_)) diagnostics_.push_back(std::move(diagnostic));
  }

  absl::Status Fail(NvccTool tool, int status, const std::string& text) {
    if (diagnostics_.empty()) Note(tool, text);
    const auto located = [](const Diagnostic& d) { return d.severity() == "error" && d.line() != 0; };
    if (std::none_of(diagnostics_.begin(), diagnostics_.end(), located)) RETURN_IF_ERROR(staging_.CheckSpace());
    const auto compiled = std::count_if(request_.sources.begin(), request_.sources.end(),
                                        [](const auto& source) { return IsCompiled(source.path()); });
    verdict_ = FailureVerdict(
        {tool, status, text, OrderDiagnostics(std::move(diagnostics_)), static_cast<size_t>(compiled)}, Elapsed());
    return absl::OkStatus();
  }

  absl::StatusOr<CompileOutcome> Finish() {
    CompiledCandidate candidate;
    ASSIGN_OR_RETURN(candidate.shared_object, staging_.ReadBuilt("candidate.so"));
    ASSIGN_OR_RETURN(candidate.kernels, MakeFacts(cubin_, ptxas_output_, DisassembleFor(candidate)));
    candidate.diagnostics = OrderDiagnostics(std::move(diagnostics_));
    for (const auto& diagnostic : candidate.diagnostics) compilation_.add_warnings(DiagnosticLine(diagnostic));
    candidate.compilation = std::move(compilation_);
    candidate.cubin = std::move(cubin_);
    candidate.ptx = std::move(ptx_);
    if (options_.unsandboxed && !options_.unsandboxed->landlock)
      candidate.unsandboxed_reason = options_.unsandboxed->reason;
    candidate.wall = Elapsed();
    return candidate;
  }

  Disassembly DisassembleFor(CompiledCandidate& candidate) const {
    const AllowUnsandboxed* unsandboxed = options_.unsandboxed ? &*options_.unsandboxed : nullptr;
    auto disassembly = Disassemble(options_.toolchain, cubin_, absl::Seconds(60), unsandboxed);
    if (disassembly.ok()) return *std::move(disassembly);
    candidate.sass_families_missing = std::string(disassembly.status().message());
    return {};
  }

  const CompileRequest& request_;
  const CompilerOptions& options_;
  Staging staging_;
  DiagnosticContext context_;
  std::string marker_;
  absl::Time started_ = absl::Now();
  NvccPlan plan_;
  std::string ptx_, cubin_, ptxas_output_;
  Compilation compilation_;
  std::vector<Diagnostic> diagnostics_;
  std::optional<Verdict> verdict_;
};

// A verdict is kept if a compiler named an error in the source, a candidate if every tool that there is did its part.
// Timeouts, limits and a tool that just ended say something about the machine at that moment.
bool WorthKeeping(const CompileOutcome& outcome, const Toolchain& toolchain) {
  if (const auto* candidate = std::get_if<CompiledCandidate>(&outcome))
    return candidate->sass_families_missing.empty() || toolchain.nvdisasm.empty();
  const auto* verdict = std::get_if<Verdict>(&outcome);
  const auto& diagnostics = verdict->details().diagnostics();
  return verdict->code() != sassay::v1::VERDICT_CODE_COMPILE_LIMIT &&
         std::any_of(diagnostics.begin(), diagnostics.end(), [](const auto& d) { return d.severity() == "error"; });
}

}  // namespace

Compiler::Compiler(CompilerOptions options) : options_(std::move(options)) {}
Compiler::~Compiler() = default;

absl::StatusOr<CompileOutcome> Compiler::Compile(const CompileRequest& untrusted_request) {
  absl::Time started = absl::Now();
  CompileRequest request = untrusted_request;
  agent::AddPtxHeaders(request.sources);
  RETURN_IF_ERROR(CheckRequest(request, options_.toolchain));
  CompileCache cache(options_.cache_directory, options_.cache_bytes);
  std::string key = CompileCacheKey(request, options_);
  std::optional<CompileOutcome> outcome = cache.Find(key);
  if (!outcome) {
    ASSIGN_OR_RETURN(Staging staging, Staging::Create(request, options_));
    ASSIGN_OR_RETURN(outcome, Run(request, options_, std::move(staging)).Compile());
    if (WorthKeeping(*outcome, options_.toolchain)) cache.Put(key, *outcome).IgnoreError();
  }
  if (auto* candidate = std::get_if<CompiledCandidate>(&*outcome)) {
    candidate->sources = std::move(request.sources);
    candidate->wall = absl::Now() - started;
  }
  return *std::move(outcome);
}

}  // namespace sassay
