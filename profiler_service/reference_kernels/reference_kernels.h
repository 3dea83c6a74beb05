// References that are kernels of our own ("kernel:NAME" in a definition).
//
// They are bundles as an admin could approve them, but part of this program: whoever trusts it trusts them, so that a
// fresh service judges these operators without anybody's doing. And they are for no size in particular: the launch plan
// is made for the workload, where a compiled bundle holds plans for the sizes it was captured with. They pass admission
// and run in a runner like any other reference. docs/decisions/0008-reference-kernels-that-ship.md.
#ifndef SASSAY_PROFILER_SERVICE_REFERENCE_KERNELS_REFERENCE_KERNELS_H_
#define SASSAY_PROFILER_SERVICE_REFERENCE_KERNELS_REFERENCE_KERNELS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::reference_kernels {

// Canonical bytes of a bundle with one plan, for this workload, whose reference is "kernel:NAME". Tensors, scalars and
// axes are found by name, in any order:
//
//   gqa_paged_decode    q [batch_size, num_qo_heads, head_dim], k_cache, v_cache [num_pages, page_size, num_kv_heads,
//                       head_dim], kv_indptr [batch_size + 1], kv_indices, kv_last_page_len [batch_size] (may be
//                       absent: pages are full), sm_scale; output as q, lse [batch_size, num_qo_heads], base 2
//   gqa_paged_prefill   the same with total_q in place of batch_size, and qo_indptr; causal, aligned at the end
//   gqa_ragged_prefill  k, v [total_kv, num_kv_heads, head_dim] and kv_indptr in place of pages
//
// bf16, int32 and fp32. Whatever sequences sees no key: output 0, lse -inf. INVALID_ARGUMENT naming the tensor for a
// workload that is none of these; NOT_FOUND for an architecture that this program has no image for.
absl::StatusOr<std::string> BundleFor(const sassay::v1::Workload& workload, absl::string_view arch);

}  // namespace sassay::reference_kernels

#endif  // SASSAY_PROFILER_SERVICE_REFERENCE_KERNELS_REFERENCE_KERNELS_H_
