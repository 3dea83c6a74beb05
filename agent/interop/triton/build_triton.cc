#include "agent/interop/triton/build_triton.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/compile/facts.h"
#include "agent/compile/messages/diagnostics.h"
#include "agent/compile/messages/failure.h"
#include "agent/interop/triton/child_run.h"
#include "agent/interop/triton/join_ptx.h"
#include "agent/interop/triton/plan.h"
#include "common/base/status_macros.h"
#include "common/sass/disassembly.h"
#include "common/toolchain/ptxas.h"

namespace sassay::agent {
namespace {

// One candidate on its way.
class TritonBuild {
 public:
  explicit TritonBuild(const TritonRequest& request) : request_(request) {}

  absl::StatusOr<TritonOutcome> Run() {
    RETURN_IF_ERROR(Record());
    if (!verdict_) RETURN_IF_ERROR(Join());
    if (!verdict_) RETURN_IF_ERROR(Assemble());
    if (!verdict_) Plan();
    if (!verdict_) RETURN_IF_ERROR(ReadFacts());
    if (!verdict_) return std::move(candidate_);
    verdict_->mutable_versions()->set_toolkit(request_.toolchain.version);
    return *std::move(verdict_);
  }

 private:
  absl::Duration Left() const { return std::max(absl::ZeroDuration(), request_.timeout - (absl::Now() - begin_)); }

  absl::Status Record() {
    ASSIGN_OR_RETURN(TritonChild child, TritonChild::Create(request_));
    for (const v1::Workload& workload : request_.workloads) {
      ASSIGN_OR_RETURN(auto outcome, child.Run(workload, Left()));
      if (auto* verdict = std::get_if<v1::Verdict>(&outcome)) return Fail(std::move(*verdict));
      recordings_.push_back(std::get<TritonRecording>(std::move(outcome)));
      if (const auto& failure = recordings_.back().failure; failure.has_value())
        return Fail(TritonFailureVerdict(*failure, request_.source));
    }
    candidate_.capture_time = absl::Now() - begin_;
    return absl::OkStatus();
  }

  absl::Status Fail(v1::Verdict verdict) {
    verdict_ = std::move(verdict);
    return absl::OkStatus();
  }

  absl::Status Join() {
    std::vector<PtxModule> modules;
    for (const TritonRecording& recording : recordings_)
      for (const TritonKernel& kernel : recording.kernels) modules.push_back({kernel.name, kernel.ptx});
    if (modules.empty()) return Fail(NoKernel());
    absl::StatusOr<JoinedPtx> joined = JoinPtx(modules);
    if (!joined.ok()) return Fail(Unusable(joined.status()));
    candidate_.ptx = std::move(joined->ptx);
    symbols_ = std::move(joined->kernels);
    return absl::OkStatus();
  }

  static v1::Verdict NoKernel() {
    return TritonFailureVerdict({false, "NO_LAUNCH", "run() returned without launching a @triton.jit kernel", 0, 0},
                                "");
  }

  static v1::Verdict Unusable(const absl::Status& status) {
    return TritonFailureVerdict({false, "UNSUPPORTED_API", std::string(status.message()), 0, 0}, "");
  }

  absl::Status Assemble() {
    const absl::Time begin = absl::Now();
    v1::Compilation& compilation = candidate_.compilation;
    compilation.set_arch(request_.arch);
    compilation.set_toolkit_version(request_.toolchain.version);
    compilation.add_options(absl::StrCat("triton==", recordings_.front().triton_version));
    for (std::string& option : DefaultPtxasOptions()) compilation.add_ptxas_options(std::move(option));
    const AllowUnsandboxed* unsandboxed = request_.unsandboxed ? &*request_.unsandboxed : nullptr;
    ASSIGN_OR_RETURN(Assembly assembly,
                     AssemblePtx(request_.toolchain, compilation, candidate_.ptx, Left(), unsandboxed));
    candidate_.compile_time = absl::Now() - begin;
    ptxas_output_ = std::move(assembly.report.stderr_text);
    candidate_.cubin = std::move(assembly.cubin);
    if (assembly.report.kind == ExitReport::Kind::kTimedOut)
      return Fail(TimeoutVerdict(NvccTool::kPtxas, request_.timeout, candidate_.compile_time));
    return assembly.report.Succeeded() ? absl::OkStatus() : Fail(PtxasRefused(assembly.report));
  }

  v1::Verdict PtxasRefused(const ExitReport& report) const {
    v1::SourceFile source;
    source.set_path("kernel.py");
    source.set_content(request_.source);
    const std::vector<v1::SourceFile> sources = {source};
    DiagnosticContext context;
    context.sources = &sources;
    context.path_names = {{"/candidate/", ""}, {"/packages/", ""}};
    context.ptx = candidate_.ptx;
    const int status = report.kind == ExitReport::Kind::kSignaled ? 128 + report.signal_number : report.exit_code;
    return FailureVerdict({NvccTool::kPtxas, status, ptxas_output_,
                           OrderDiagnostics(ParseDiagnostics(NvccTool::kPtxas, ptxas_output_, context)), 1},
                          candidate_.compile_time);
  }

  void Plan() {
    size_t first = 0;
    for (size_t i = 0; i < recordings_.size() && !verdict_; ++i) {
      const size_t count = recordings_[i].kernels.size();
      const std::vector<std::string> symbols(symbols_.begin() + static_cast<ptrdiff_t>(first),
                                             symbols_.begin() + static_cast<ptrdiff_t>(first + count));
      first += count;
      TritonPlanOutcome plan = MakeTritonPlan(recordings_[i], request_.workloads[i], symbols, request_.device.name);
      if (auto* verdict = std::get_if<v1::Verdict>(&plan))
        verdict_ = std::move(*verdict);
      else
        candidate_.plans.push_back(std::get<v1::LaunchPlan>(std::move(plan)));
    }
  }

  absl::Status ReadFacts() {
    const AllowUnsandboxed* unsandboxed = request_.unsandboxed ? &*request_.unsandboxed : nullptr;
    absl::StatusOr<Disassembly> disassembly =
        Disassemble(request_.toolchain, candidate_.cubin, absl::Seconds(60), unsandboxed);
    if (!disassembly.ok()) candidate_.sass_families_missing = std::string(disassembly.status().message());
    ASSIGN_OR_RETURN(candidate_.kernels,
                     MakeFacts(candidate_.cubin, ptxas_output_, disassembly.ok() ? *disassembly : Disassembly()));
    return absl::OkStatus();
  }

  const TritonRequest& request_;
  const absl::Time begin_ = absl::Now();
  std::vector<TritonRecording> recordings_;
  // Of all recordings' kernels, one behind the other.
  std::vector<std::string> symbols_;
  std::string ptxas_output_;
  TritonCandidate candidate_;
  std::optional<v1::Verdict> verdict_;
};

}  // namespace

bool IsTritonCandidate(const std::vector<v1::SourceFile>& sources) {
  return sources.size() == 1 && absl::EndsWith(sources.front().path(), ".py");
}

absl::StatusOr<TritonOutcome> BuildTriton(const TritonRequest& request) { return TritonBuild(request).Run(); }

}  // namespace sassay::agent
