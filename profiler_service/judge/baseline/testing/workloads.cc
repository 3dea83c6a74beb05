#include "profiler_service/judge/baseline/testing/workloads.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace sassay::judge {
namespace {

using sassay::v1::Workload;
using Tensors = google::protobuf::RepeatedPtrField<sassay::v1::TensorSpec>;

void Add(Tensors* tensors, const char* name, const std::vector<int64_t>& shape,
         sassay::v1::DType dtype = sassay::v1::DTYPE_BFLOAT16) {
  sassay::v1::TensorSpec* tensor = tensors->Add();
  tensor->set_name(name);
  tensor->set_dtype(dtype);
  for (const int64_t extent : shape) tensor->add_shape(extent);
}

}  // namespace

Workload GemmWorkload(int64_t m, int64_t n, int64_t k) {
  Workload workload;
  workload.set_name(absl::StrCat("gemm_n", n, "_k", k, "/M=", m));
  workload.set_reference("builtin:gemm");
  workload.set_baseline("cublaslt");
  workload.set_flop(2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k));
  Add(workload.mutable_inputs(), "A", {m, k});
  Add(workload.mutable_inputs(), "B", {n, k});
  Add(workload.mutable_outputs(), "C", {m, n});
  return workload;
}

Workload AttentionWorkload(const AttentionShape& shape) {
  Workload workload;
  workload.set_name(absl::StrCat(shape.backward ? "mha_bwd_d" : "mha_with_lse_d", shape.head_size,
                                 shape.causal ? "_causal" : "", "/B=", shape.batch, ",H=", shape.heads,
                                 ",S=", shape.sequence));
  workload.set_reference(
      absl::StrCat("builtin:mha_", shape.backward ? "backward" : "forward", shape.causal ? "_causal" : ""));
  workload.set_baseline("cudnn_sdpa");
  workload.set_flop((shape.backward ? 10.0 : 4.0) / (shape.causal ? 2 : 1) *
                    static_cast<double>(shape.batch * shape.heads * shape.head_size) *
                    static_cast<double>(shape.sequence) * static_cast<double>(shape.sequence));
  const std::vector<int64_t> full = {shape.batch, shape.heads, shape.sequence, shape.head_size};
  const std::vector<int64_t> rows(full.begin(), full.end() - 1);
  for (const char* name : {"Q", "K", "V"}) Add(workload.mutable_inputs(), name, full);
  if (shape.backward) {
    for (const char* name : {"O", "dO"}) Add(workload.mutable_inputs(), name, full);
    Add(workload.mutable_inputs(), "L", rows, sassay::v1::DTYPE_FLOAT32);
    for (const char* name : {"dQ", "dK", "dV"}) Add(workload.mutable_outputs(), name, full);
  } else {
    Add(workload.mutable_outputs(), "O", full);
    Add(workload.mutable_outputs(), "LSE", rows, sassay::v1::DTYPE_FLOAT32);
  }
  return workload;
}

}  // namespace sassay::judge
