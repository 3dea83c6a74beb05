#include "profiler_service/judge/baseline/baseline.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/judge/baseline/libraries.h"
#include "profiler_service/judge/baseline/shapes.h"

namespace sassay::judge {
namespace {

bool AllAligned(absl::Span<const device::DeviceAddress> addresses) {
  for (const device::DeviceAddress address : addresses) {
    if (address % kTensorAlignment != 0) return false;
  }
  return true;
}

}  // namespace

absl::Status CheckAddresses(absl::Span<const device::DeviceAddress> inputs, size_t input_count,
                            absl::Span<const device::DeviceAddress> outputs, size_t output_count) {
  if (inputs.size() != input_count || outputs.size() != output_count) {
    return absl::InvalidArgumentError(absl::StrCat("the baseline takes ", input_count, " inputs and ", output_count,
                                                   " outputs, got ", inputs.size(), " and ", outputs.size()));
  }
  if (AllAligned(inputs) && AllAligned(outputs)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the baseline takes tensors aligned to ", kTensorAlignment, " bytes"));
}

absl::StatusOr<std::unique_ptr<Baseline>> MakeBaseline(const sassay::v1::Workload& workload, device::Device& device,
                                                       const BaselineOptions& options) {
  const std::string& name = workload.baseline();
  if (name.empty()) {
    return absl::NotFoundError(absl::StrCat("the definition of ", workload.name(), " names no baseline"));
  }
  if (absl::StartsWith(name, "bundle:")) {
    return absl::UnimplementedError(absl::StrCat("the baseline ", name, " is a bundle, which is replayed"));
  }
  if (device.info().kind != "cuda") {
    return absl::UnavailableError(
        absl::StrCat("the baseline ", name, " needs a GPU, and this is an ", device.info().model));
  }
  ASSIGN_OR_RETURN(const device::cuda::Driver* driver, device::cuda::Driver::Get());
  const BaselineRequest request = {workload, *driver, options};
  if (name == "cublaslt") {
    ASSIGN_OR_RETURN(const GemmShape shape, GemmShapeOf(workload));
    return MakeCublasLtBaseline(request, shape);
  }
  if (name == "cudnn_sdpa") {
    ASSIGN_OR_RETURN(const AttentionShape shape, AttentionShapeOf(workload));
    return MakeCudnnAttentionBaseline(request, shape);
  }
  return absl::UnimplementedError(absl::StrCat("no code for the baseline ", name));
}

}  // namespace sassay::judge
