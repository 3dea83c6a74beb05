#include "agent/build/check_answer.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/interop/triton/build_triton.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"

namespace sassay::agent {
namespace {

// Of the template headers, as <sassay/ptx/…> names them.
constexpr absl::string_view kHeaders = "sassay/ptx/";
constexpr char kTritonName[] = "kernel.py";

absl::Status CheckWhole(const v1::CompileResult& result, const std::string& bytes) {
  if (bytes.size() != result.bundle_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", bytes.size(), " bytes, and ", result.bundle_bytes(), " were announced"));
  }
  if (BundleDigest(bytes) == result.bundle_sha256()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("its digest is ", BundleDigest(bytes), ", and ", result.bundle_sha256(), " was announced"));
}

absl::Status CheckSources(const BuildInput& input, const v1::Bundle& bundle) {
  const bool triton = IsTritonCandidate(input.sources);
  std::map<std::string, const std::string*> sent;
  for (const v1::SourceFile& source : input.sources) sent[triton ? kTritonName : source.path()] = &source.content();
  size_t found = 0;
  for (const v1::SourceFile& source : bundle.sources()) {
    const auto own = sent.find(source.path());
    if (own == sent.end() && absl::StartsWith(source.path(), kHeaders)) continue;
    if (own == sent.end()) {
      return absl::InvalidArgumentError(absl::StrCat("it was made with a file that was not sent, ", source.path()));
    }
    if (*own->second != source.content()) {
      return absl::InvalidArgumentError(absl::StrCat("it was made with another ", source.path()));
    }
    ++found;
  }
  if (found != sent.size()) return absl::InvalidArgumentError("it leaves out files that were sent");
  if (SourceDigest(bundle.sources()) == bundle.source_sha256()) return absl::OkStatus();
  return absl::InvalidArgumentError("its source digest is not that of its sources");
}

bool HasName(const std::vector<v1::Workload>& workloads, const std::string& name) {
  return std::any_of(workloads.begin(), workloads.end(),
                     [&](const v1::Workload& workload) { return workload.name() == name; });
}

absl::Status CheckPlans(const BuildInput& input, const v1::Bundle& bundle) {
  for (const v1::Workload& workload : input.workloads) {
    if (FindPlan(bundle, workload.name()) == nullptr)
      return absl::InvalidArgumentError(absl::StrCat("it has no plan for ", workload.name()));
  }
  for (const v1::LaunchPlan& plan : bundle.plans()) {
    if (!HasName(input.workloads, plan.workload()) && !HasName(input.welcome, plan.workload()))
      return absl::InvalidArgumentError(
          absl::StrCat("it has a plan for ", plan.workload(), ", which was not asked for"));
  }
  return absl::OkStatus();
}

absl::StatusCode CodeOf(const std::string& name) {
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    if (absl::StatusCodeToString(static_cast<absl::StatusCode>(code)) == name)
      return static_cast<absl::StatusCode>(code);
  }
  return absl::StatusCode::kUnknown;
}

}  // namespace

absl::StatusOr<BuiltBundle> TakeBundle(const BuildInput& input, const std::string& arch,
                                       const v1::CompileResult& untrusted_result, std::string untrusted_bytes) {
  RETURN_IF_ERROR(CheckWhole(untrusted_result, untrusted_bytes));
  BuiltBundle built;
  ASSIGN_OR_RETURN(built.bundle, ParseBundle(untrusted_bytes));
  built.bytes = std::move(untrusted_bytes);
  if (built.bundle.compilation().arch() != arch) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is for ", built.bundle.compilation().arch(), ", and ", arch, " was asked for"));
  }
  RETURN_IF_ERROR(CheckSources(input, built.bundle));
  RETURN_IF_ERROR(CheckPlans(input, built.bundle));
  built.kernels.assign(untrusted_result.kernels().begin(), untrusted_result.kernels().end());
  built.compile_cached = untrusted_result.compile_cached();
  built.compile_time = absl::Nanoseconds(untrusted_result.compile_ns());
  built.capture_time = absl::Nanoseconds(untrusted_result.capture_ns());
  built.warnings.assign(untrusted_result.warnings().begin(), untrusted_result.warnings().end());
  return built;
}

absl::Status CheckBuildVerdict(const BuildInput& input, const v1::Verdict& untrusted_verdict) {
  if (untrusted_verdict.status() != v1::VERDICT_STATUS_COMPILE_ERROR &&
      untrusted_verdict.status() != v1::VERDICT_STATUS_CAPTURE_ERROR) {
    return absl::InvalidArgumentError(absl::StrCat("a build ends with COMPILE_ERROR or CAPTURE_ERROR, not with ",
                                                   EnumName(untrusted_verdict.status())));
  }
  if (HasName(input.workloads, untrusted_verdict.workload())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it is about ", untrusted_verdict.workload(), ", which was not asked for"));
}

absl::Status StatusOf(const v1::CommandFailure& untrusted_failure, absl::string_view where) {
  const absl::StatusCode code = CodeOf(untrusted_failure.error());
  if (code == absl::StatusCode::kInvalidArgument) return absl::Status(code, untrusted_failure.message());
  return absl::Status(code, absl::StrCat(where, ": ", untrusted_failure.message()));
}

}  // namespace sassay::agent
