#include "profiler_service/judge/gpu/reference.h"

#include <cmath>

#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "profiler_service/judge/gpu/attention.h"
#include "profiler_service/judge/gpu/operations.h"
#include "profiler_service/judge/reference/reference.h"

namespace sassay::judge::gpu {
namespace {

using sassay::v1::TensorSpec;
using sassay::v1::Workload;

class GemmReference : public Reference {
 public:
  GemmReference(int64_t m, int64_t n, int64_t k, Element output) : m_(m), n_(n), k_(k), output_(output) {}

  absl::StatusOr<std::vector<ExpectedOutput>> Compute(Kernels& kernels,
                                                      const std::vector<Tensor>& inputs) const override {
    ExpectedOutput expected;
    expected.values_element = ValuesElement(output_);
    const auto elements = static_cast<uint64_t>(m_ * n_);
    ASSIGN_OR_RETURN(expected.values, kernels.Allocate(elements * WidthOf(expected.values_element), "reference C"));
    ASSIGN_OR_RETURN(expected.noise, kernels.Allocate(elements * sizeof(float), "noise of C"));
    ASSIGN_OR_RETURN(const Operand a, OperandOf(kernels, inputs[0], m_ * k_));
    ASSIGN_OR_RETURN(const Operand b, OperandOf(kernels, inputs[1], n_ * k_));
    ProductArguments product = ProductOf(m_, n_, k_);
    SetA(product, a.tensor, k_, 1);
    SetB(product, b.tensor, 1, k_);
    SetC(product, {expected.values.address(), expected.values_element}, n_);
    RETURN_IF_ERROR(Multiply(kernels, product, 1));
    RETURN_IF_ERROR(Noise(kernels, a.tensor, b.tensor, expected.noise.address()));
    RETURN_IF_ERROR(kernels.Finish());
    std::vector<ExpectedOutput> outputs;
    outputs.push_back(std::move(expected));
    return outputs;
  }

 private:
  // sqrt(K) 2^-24 |a_i| |b_j|, as gemm_reference.cc has it.
  absl::Status Noise(Kernels& kernels, const Tensor& a, const Tensor& b, device::DeviceAddress noise) const {
    ASSIGN_OR_RETURN(const DeviceMemory a_norms, RowNorms(kernels, a, m_, k_));
    ASSIGN_OR_RETURN(const DeviceMemory b_norms, RowNorms(kernels, b, n_, k_));
    const double unit = std::sqrt(static_cast<double>(k_)) * std::ldexp(1.0, -24);
    RETURN_IF_ERROR(kernels.Walk("sassay_outer", static_cast<uint64_t>(m_ * n_),
                                 OuterArguments{a_norms.address(), b_norms.address(), noise, m_, n_, unit}));
    return kernels.Finish();
  }

  const int64_t m_, n_, k_;
  const Element output_;
};

absl::StatusOr<std::unique_ptr<Reference>> MakeGemm(const Workload& workload) {
  const TensorSpec &a = workload.inputs(0), &b = workload.inputs(1);
  ASSIGN_OR_RETURN(const Element output, ElementOf(workload.outputs(0).dtype()));
  return std::unique_ptr<Reference>(std::make_unique<GemmReference>(a.shape(0), b.shape(0), a.shape(1), output));
}

}  // namespace

Element ValuesElement(Element output) { return WidthOf(output) <= 2 ? Element::kFloat32 : Element::kFloat64; }

absl::StatusOr<std::unique_ptr<Reference>> MakeReference(const Workload& workload) {
  const std::string& name = workload.reference();
  const bool forward = name == "builtin:mha_forward" || name == "builtin:mha_forward_causal";
  const bool backward = name == "builtin:mha_backward" || name == "builtin:mha_backward_causal";
  if (name != "builtin:gemm" && !forward && !backward) return std::unique_ptr<Reference>();
  // The CPU's reference knows which shapes make sense.
  RETURN_IF_ERROR(judge::MakeReference(workload).status());
  if (name == "builtin:gemm") return MakeGemm(workload);
  const bool causal = name.size() > 7 && name.substr(name.size() - 7) == "_causal";
  return forward ? MakeAttentionForward(workload, causal) : MakeAttentionBackward(workload, causal);
}

}  // namespace sassay::judge::gpu
