#include "profiler_service/admission/admission.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/bundle/ptx.h"
#include "profiler_service/admission/arch_limits.h"
#include "profiler_service/admission/plan_checks.h"

namespace sassay::admission {
namespace {

// The number in "sm_90a"; 0 if there is none.
uint32_t SmOf(absl::string_view arch) {
  if (!absl::ConsumePrefix(&arch, "sm_")) return 0;
  uint32_t sm = 0;
  for (const char c : arch) {
    if (c < '0' || c > '9' || sm > 1000) break;
    sm = sm * 10 + static_cast<uint32_t>(c - '0');
  }
  return sm;
}

// "plans[0].steady: too many": the field is what comes before the colon.
Rejection FromBundleStatus(const absl::Status& status) {
  const absl::string_view message = status.message();
  const size_t colon = message.find(": ");
  const bool has_field = colon != absl::string_view::npos;
  return {status.code() == absl::StatusCode::kResourceExhausted ? v1::VERDICT_CODE_PLAN_LIMIT
                                                                : v1::VERDICT_CODE_BUNDLE_MALFORMED,
          has_field ? std::string(message.substr(0, colon)) : "",
          std::string(has_field ? message.substr(colon + 2) : message)};
}

Complaint CheckSizes(const v1::Bundle& bundle, const Limits& limits) {
  if (bundle.cubin().size() > limits.max_cubin_bytes) {
    return Rejection{v1::VERDICT_CODE_PLAN_LIMIT, "cubin",
                     absl::StrCat(bundle.cubin().size(), " bytes, at most ", limits.max_cubin_bytes)};
  }
  if (bundle.ptx().size() > limits.max_ptx_bytes) {
    return Rejection{v1::VERDICT_CODE_PLAN_LIMIT, "ptx",
                     absl::StrCat(bundle.ptx().size(), " bytes, at most ", limits.max_ptx_bytes)};
  }
  if (bundle.compilation().toolkit_version().size() > limits.max_text_bytes) {
    return Rejection{
        v1::VERDICT_CODE_PLAN_LIMIT, "compilation.toolkit_version",
        absl::StrCat(bundle.compilation().toolkit_version().size(), " bytes of text, at most ", limits.max_text_bytes)};
  }
  return absl::nullopt;
}

Complaint CheckArch(const v1::Bundle& bundle, const Cubin& cubin, const DeviceFacts& device) {
  if (bundle.compilation().arch() != cubin.arch()) {
    return Rejection{v1::VERDICT_CODE_ARCH_MISMATCH, "compilation.arch",
                     absl::StrCat(bundle.compilation().arch(), ", the cubin is for ", cubin.arch())};
  }
  if (cubin.sm() != SmOf(device.arch)) {
    return Rejection{v1::VERDICT_CODE_ARCH_MISMATCH, "cubin",
                     absl::StrCat("it is for ", cubin.arch(), ", this device is ", device.arch,
                                  "; compile with --arch ", device.arch)};
  }
  if (FindArchLimits(cubin.sm()) == nullptr) {
    return Rejection{v1::VERDICT_CODE_ARCH_MISMATCH, "cubin",
                     absl::StrCat("this build does not know the limits of ", cubin.arch())};
  }
  return absl::nullopt;
}

Complaint CheckFunctions(const Cubin& cubin) {
  if (cubin.uses_device_runtime()) {
    return Rejection{v1::VERDICT_CODE_DEVICE_RUNTIME, "cubin",
                     "kernels that launch kernels (dynamic parallelism) are not accepted"};
  }
  for (const std::string& name : cubin.undefined_functions()) {
    if (!IsDriverFunction(name)) {
      return Rejection{v1::VERDICT_CODE_CUBIN_MALFORMED, "cubin", absl::StrCat("it lacks the device function ", name)};
    }
  }
  return absl::nullopt;
}

// The emulator runs the PTX and a GPU the cubin, so both must have what is launched.
Complaint CheckPtx(const v1::Bundle& bundle, const Cubin& cubin, const v1::LaunchPlan& plan) {
  const auto header = ParsePtxHeader(bundle.ptx());
  if (!header.ok()) {
    return Rejection{v1::VERDICT_CODE_BUNDLE_MALFORMED, "ptx", std::string(header.status().message())};
  }
  if (header->target != cubin.arch()) {
    return Rejection{v1::VERDICT_CODE_ARCH_MISMATCH, "ptx",
                     absl::StrCat("its target is ", header->target, ", the cubin is for ", cubin.arch())};
  }
  if (header->address_size != 64) {
    return Rejection{v1::VERDICT_CODE_BUNDLE_MALFORMED, "ptx",
                     absl::StrCat(".address_size is ", header->address_size, ", expected 64")};
  }
  if (const absl::Status strings = CheckPtxStrings(bundle.ptx()); !strings.ok()) {
    return Rejection{v1::VERDICT_CODE_BUNDLE_MALFORMED, "ptx", std::string(strings.message())};
  }
  const std::vector<std::string> entries = PtxEntries(bundle.ptx());
  const std::set<absl::string_view> names(entries.begin(), entries.end());
  for (const auto* steps : {&plan.setup(), &plan.steady()}) {
    for (const v1::Step& step : *steps) {
      if (step.has_launch() && names.count(step.launch().kernel()) == 0) {
        return Rejection{v1::VERDICT_CODE_KERNEL_MISSING, "ptx",
                         absl::StrCat("it has no entry ", step.launch().kernel(), ", which the plan launches")};
      }
    }
  }
  return absl::nullopt;
}

Rejection NoPlan(const v1::Bundle& bundle, const v1::Workload& workload) {
  std::vector<std::string> captured;
  for (const v1::LaunchPlan& plan : bundle.plans()) {
    if (captured.size() < 10) captured.push_back(plan.workload());
  }
  return {v1::VERDICT_CODE_WORKLOAD_MISMATCH, "plans",
          absl::StrCat("none is for ", workload.name(),
                       "; captured were: ", captured.empty() ? "none" : absl::StrJoin(captured, ", "))};
}

}  // namespace

// Carries a bundle from one check to the next; the only maker of AdmittedBundle.
class Admission {
 public:
  Admission(const v1::Workload& workload, const Limits& limits, const DeviceFacts& device)
      : workload_(workload), limits_(limits), device_(device) {}

  AdmissionResult Run(absl::string_view untrusted_bundle) const {
    if (workload_.reference().empty()) {
      return Rejection{v1::VERDICT_CODE_NO_REFERENCE, "workload",
                       absl::StrCat(workload_.name(),
                                    " has no reference, so nothing can say what is right; add "
                                    "sassay.reference to its definition")};
    }
    auto bundle = ParseBundle(untrusted_bundle, limits_.bundle);
    if (!bundle.ok()) return FromBundleStatus(bundle.status());
    if (auto complaint = CheckSizes(*bundle, limits_)) return *std::move(complaint);
    auto cubin = Cubin::Parse(bundle->cubin());
    if (!cubin.ok()) {
      return Rejection{v1::VERDICT_CODE_CUBIN_MALFORMED, "cubin", std::string(cubin.status().message())};
    }
    if (auto complaint = CheckArch(*bundle, *cubin, device_)) return *std::move(complaint);
    if (auto complaint = CheckFunctions(*cubin)) return *std::move(complaint);
    return CheckPlan(*std::move(bundle), *std::move(cubin), BundleDigest(untrusted_bundle));
  }

 private:
  AdmissionResult CheckPlan(v1::Bundle bundle, Cubin cubin, std::string digest) const {
    auto content = std::make_shared<AdmittedBundle::Content>(std::move(cubin));
    content->bundle = std::move(bundle);
    content->plan = FindPlan(content->bundle, workload_.name());
    if (content->plan == nullptr) return NoPlan(content->bundle, workload_);
    const auto& plans = content->bundle.plans();
    const auto at = std::find_if(plans.begin(), plans.end(), [&](const auto& plan) { return &plan == content->plan; });
    PlanChecker checker(*content->plan, workload_, content->cubin, *FindArchLimits(content->cubin.sm()), limits_,
                        device_, absl::StrCat("plans[", at - plans.begin(), "]"));
    if (auto complaint = checker.Check()) return *std::move(complaint);
    if (auto complaint = CheckPtx(content->bundle, content->cubin, *content->plan)) return *std::move(complaint);
    content->workload = workload_;
    content->digest = std::move(digest);
    content->memory_bytes = checker.memory_bytes();
    content->warnings = checker.warnings();
    return AdmittedBundle(std::move(content));
  }

  const v1::Workload& workload_;
  const Limits& limits_;
  const DeviceFacts& device_;
};

AdmissionResult Admit(absl::string_view untrusted_bundle, const v1::Workload& workload, const Limits& limits,
                      const DeviceFacts& device) {
  return Admission(workload, limits, device).Run(untrusted_bundle);
}

}  // namespace sassay::admission
