#include "profiler_service/judge/baseline/shapes.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/workload/definition.h"

namespace sassay::judge {
namespace {

using sassay::v1::TensorSpec;
using sassay::v1::Workload;

using Extents = std::vector<int64_t>;

struct Want {
  const TensorSpec& tensor;
  Extents shape;
  sassay::v1::DType dtype;
};

bool IsHalf(sassay::v1::DType dtype) {
  return dtype == sassay::v1::DTYPE_BFLOAT16 || dtype == sassay::v1::DTYPE_FLOAT16;
}

absl::Status Check(const Workload& workload, const std::vector<Want>& wanted) {
  for (const auto& [tensor, shape, dtype] : wanted) {
    const Extents got(tensor.shape().begin(), tensor.shape().end());
    if (got == shape && tensor.dtype() == dtype) continue;
    return absl::InvalidArgumentError(absl::StrCat("the baseline ", workload.baseline(), " of ", workload.name(),
                                                   " needs ", tensor.name(), " as ", DTypeName(dtype), "[",
                                                   absl::StrJoin(shape, ","), "], got ", DTypeName(tensor.dtype()), "[",
                                                   absl::StrJoin(got, ","), "]"));
  }
  return absl::OkStatus();
}

absl::Status WrongTensors(const Workload& workload, const char* expected) {
  return absl::InvalidArgumentError(absl::StrCat("the baseline ", workload.baseline(), " needs ", expected, "; ",
                                                 workload.name(), " has other tensors"));
}

absl::Status WrongType(const Workload& workload, sassay::v1::DType dtype) {
  return absl::UnimplementedError(absl::StrCat("the baseline ", workload.baseline(), " takes bfloat16 and float16; ",
                                               workload.name(), " is ", DTypeName(dtype)));
}

absl::Status ReadDirection(const Workload& workload, AttentionShape& shape) {
  for (const bool backward : {false, true}) {
    for (const bool causal : {false, true}) {
      if (workload.reference() !=
          absl::StrCat("builtin:mha_", backward ? "backward" : "forward", causal ? "_causal" : "")) {
        continue;
      }
      shape.backward = backward;
      shape.causal = causal;
      return absl::OkStatus();
    }
  }
  return absl::UnimplementedError(absl::StrCat("the baseline ", workload.baseline(),
                                               " takes mask and direction from a reference builtin:mha_…; that of ",
                                               workload.name(), " is ", workload.reference()));
}

}  // namespace

absl::StatusOr<GemmShape> GemmShapeOf(const Workload& workload) {
  if (workload.inputs_size() != 2 || workload.outputs_size() != 1 || workload.inputs(0).shape_size() != 2 ||
      workload.inputs(1).shape_size() != 2) {
    return WrongTensors(workload, "A[M,K] and B[N,K] -> C[M,N]");
  }
  const TensorSpec &a = workload.inputs(0), &b = workload.inputs(1), &c = workload.outputs(0);
  const GemmShape shape = {a.shape(0), b.shape(0), a.shape(1), a.dtype(), c.dtype()};
  const std::vector<Want> wanted = {{b, {shape.n, shape.k}, shape.input}, {c, {shape.m, shape.n}, shape.output}};
  RETURN_IF_ERROR(Check(workload, wanted));
  if (!IsHalf(shape.input)) return WrongType(workload, shape.input);
  if (shape.output != shape.input && shape.output != sassay::v1::DTYPE_FLOAT32)
    return WrongType(workload, shape.output);
  return shape;
}

absl::StatusOr<AttentionShape> AttentionShapeOf(const Workload& workload) {
  AttentionShape shape;
  RETURN_IF_ERROR(ReadDirection(workload, shape));
  if (workload.inputs_size() != (shape.backward ? 6 : 3) || workload.outputs_size() != (shape.backward ? 3 : 2) ||
      workload.inputs(0).shape_size() != 4) {
    return WrongTensors(workload, shape.backward ? "Q, K, V, O, dO [B,H,S,D] and L [B,H,S] -> dQ, dK, dV"
                                                 : "Q, K, V [B,H,S,D] -> O and LSE [B,H,S]");
  }
  const TensorSpec& q = workload.inputs(0);
  const Extents like_q(q.shape().begin(), q.shape().end()), rows(like_q.begin(), like_q.end() - 1);
  std::vector<Want> wanted;
  for (const auto* tensors : {&workload.inputs(), &workload.outputs()}) {
    for (const TensorSpec& tensor : *tensors) {
      const bool statistic = &tensor == (shape.backward ? &workload.inputs(5) : &workload.outputs(1));
      wanted.push_back(statistic ? Want{tensor, rows, sassay::v1::DTYPE_FLOAT32} : Want{tensor, like_q, q.dtype()});
    }
  }
  RETURN_IF_ERROR(Check(workload, wanted));
  if (!IsHalf(q.dtype())) return WrongType(workload, q.dtype());
  shape.batch = like_q[0];
  shape.heads = like_q[1];
  shape.sequence = like_q[2];
  shape.head_size = like_q[3];
  shape.dtype = q.dtype();
  return shape;
}

}  // namespace sassay::judge
