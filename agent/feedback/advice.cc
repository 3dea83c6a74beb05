#include "agent/feedback/advice.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/explain/explain.h"
#include "agent/feedback/quote.h"
#include "agent/render/reports.h"

namespace sassay::agent {
namespace {

struct Override {
  v1::VerdictCode code;
  const char* advice;
};

constexpr char kSetUp[] =
    "This is about how the run was set up rather than about your kernel. Keep the entry point and the tensors exactly "
    "as "
    "the task describes them.";

const Override kOverrides[] = {
    {v1::VERDICT_CODE_WRONG_ARCH_PTX,
     "Use only instructions that the target architecture has: sm_90a has wgmma and TMA, sm_100a has tcgen05, tensor "
     "memory and TMA; neither has the other's matrix instructions."},
    {v1::VERDICT_CODE_LINK_ERROR,
     "Define every function that you call in the one source file. Library calls (cuBLAS, cuDNN) are not allowed: the "
     "kernel must be your own."},
    {v1::VERDICT_CODE_PTR_CACHED,
     "Build kernel arguments and tensor maps from the pointers of this very call, in every call. Only workspace may be "
     "kept between calls; no static may hold a tensor's pointer or a tensor map of it."},
    {v1::VERDICT_CODE_BUNDLE_MALFORMED, kSetUp},
    {v1::VERDICT_CODE_CUBIN_MALFORMED, kSetUp},
    {v1::VERDICT_CODE_ARCH_MISMATCH, kSetUp},
    {v1::VERDICT_CODE_WORKLOAD_MISMATCH, kSetUp},
    {v1::VERDICT_CODE_WORKLOAD_UNKNOWN, kSetUp},
    {v1::VERDICT_CODE_NO_REFERENCE, kSetUp},
    {v1::VERDICT_CODE_DEVICE_MISMATCH,
     "Host code decided by an answer about the GPU that this GPU does not give. Use the task's constants instead of "
     "asking "
     "the runtime."},
    {v1::VERDICT_CODE_LAUNCH_FAILED,
     "The GPU gives no more precise name for it. Check cluster and barrier use, descriptors and shared-memory layout, "
     "and "
     "take features out until it runs."},
    {v1::VERDICT_CODE_KERNEL_TIMEOUT,
     "Look at where the warps stand: each loop there needs something that makes its condition false. If the loop is "
     "right, "
     "the kernel is far too slow for these shapes."},
    {v1::VERDICT_CODE_MBARRIER_DEADLOCK,
     "Compare what each barrier expects (arrivals, bytes) with what came: expect_tx must count exactly the bytes that "
     "the "
     "copies bring, the arrival count must be that of mbarrier.init, and the phase bit flips each time the ring "
     "wraps."},
    {v1::VERDICT_CODE_FASTER_THAN_PHYSICS,
     "No honest kernel can be so fast, so work is skipped in some calls. Compute the whole output from the inputs in "
     "every "
     "call; keep no results between calls."},
    {v1::VERDICT_CODE_DIGEST_BARRED, "This exact candidate hangs GPUs and is not run again. Change the kernel."},
};

bool WantsEntry(v1::VerdictCode code) {
  return code == v1::VERDICT_CODE_ENTRY_MISSING || code == v1::VERDICT_CODE_ENTRY_SIGNATURE;
}

}  // namespace

std::string ExpectedEntry(const v1::Workload& workload, CandidateKind kind) {
  if (kind == CandidateKind::kCuda) return InertLine(EntrySignature(workload), 600);
  std::vector<std::string> names;
  for (const v1::TensorSpec& tensor : workload.inputs()) names.push_back(InertLine(tensor.name(), 80));
  for (const v1::TensorSpec& tensor : workload.outputs()) names.push_back(InertLine(tensor.name(), 80));
  return absl::StrCat("def run(", absl::StrJoin(names, ", "), "):");
}

std::string AdviceFor(v1::VerdictCode code, const v1::Workload& workload, CandidateKind kind) {
  if (WantsEntry(code)) return absl::StrCat("Export exactly this entry point: ", ExpectedEntry(workload, kind));
  for (const Override& entry : kOverrides)
    if (entry.code == code) return entry.advice;
  const Explanation* explanation = FindExplanation(code);
  return explanation == nullptr || code == v1::VERDICT_CODE_OK ? "" : explanation->repair;
}

std::string UsualCauses(v1::VerdictCode code) {
  const Explanation* explanation = FindExplanation(code);
  if (explanation == nullptr || code == v1::VERDICT_CODE_OK) return "";
  std::vector<absl::string_view> causes(explanation->causes.begin(), explanation->causes.end());
  const auto speaks_of_flags = [](absl::string_view cause) { return absl::StrContains(cause, " --"); };
  causes.erase(std::remove_if(causes.begin(), causes.end(), speaks_of_flags), causes.end());
  return causes.empty() ? "" : absl::StrCat("Usual causes: ", absl::StrJoin(causes, "; "), ".");
}

}  // namespace sassay::agent
