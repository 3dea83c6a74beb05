// References on the GPU: the formulas and the noise of reference/, in fp64, from the very bytes the candidate reads.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_REFERENCE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_REFERENCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_service/judge/gpu/kernels.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge::gpu {

// One output's exact values on the device, and what honest arithmetic may add: numerics/compare.h's Expected.
struct ExpectedOutput {
  // fp64; fp32 for outputs of at most 16 bits, whose neighbours are 2^13 times further apart than its own.
  DeviceMemory values;
  Element values_element = Element::kFloat64;
  DeviceMemory noise;  // fp32, one standard deviation; none where nothing may be added
  DeviceMemory exact;  // the output's own bytes where integers are too large for a double
  uint64_t bytes() const { return values.size_bytes() + noise.size_bytes() + exact.size_bytes(); }
};

// The type that an output's values are kept in.
Element ValuesElement(Element output);

// A tensor on the device.
struct Tensor {
  device::DeviceAddress address = 0;
  Element element = Element::kBfloat16;
};

// One operator's reference. Immutable; thread-compatible, as the kernels. What it allocates besides its results is
// freed before a call returns: matrices of scores within the kernels' workspace, and a few tensors of the workload's
// size.
class Reference {
 public:
  virtual ~Reference() = default;

  // Writes the inputs that follow from the others (attention backward: O and L). One tensor per input, in order.
  virtual absl::Status Complete(Kernels& kernels, const std::vector<Tensor>& inputs) const { return absl::OkStatus(); }
  // One per output. Enqueues; the results are there once the kernels have finished.
  virtual absl::StatusOr<std::vector<ExpectedOutput>> Compute(Kernels& kernels,
                                                              const std::vector<Tensor>& inputs) const = 0;
};

// The reference that the workload names; null if it has none that computes on a GPU. INVALID_ARGUMENT if its shapes do
// not fit the operator.
absl::StatusOr<std::unique_ptr<Reference>> MakeReference(const sassay::v1::Workload& workload);

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_REFERENCE_H_
