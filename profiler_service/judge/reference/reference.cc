#include "profiler_service/judge/reference/reference.h"

#include "absl/strings/str_cat.h"
#include "profiler_service/judge/reference/attention_reference.h"
#include "profiler_service/judge/reference/gemm_reference.h"

namespace sassay::judge {

absl::StatusOr<std::unique_ptr<Reference>> MakeReference(const sassay::v1::Workload& workload) {
  const std::string& name = workload.reference();
  if (name == "builtin:gemm") return MakeGemmReference(workload);
  if (name == "builtin:mha_forward") return MakeAttentionForwardReference(workload, false);
  if (name == "builtin:mha_forward_causal") return MakeAttentionForwardReference(workload, true);
  if (name == "builtin:mha_backward") return MakeAttentionBackwardReference(workload, false);
  if (name == "builtin:mha_backward_causal") return MakeAttentionBackwardReference(workload, true);
  return absl::NotFoundError(absl::StrCat(workload.name(), ": no reference \"", name,
                                          "\"; the judge has builtin:gemm, builtin:mha_forward[_causal], "
                                          "builtin:mha_backward[_causal]"));
}

}  // namespace sassay::judge
