#include "profiler_service/judge/baseline/libraries.h"

namespace sassay::judge {

absl::StatusOr<std::unique_ptr<Baseline>> MakeCublasLtBaseline(const BaselineRequest&, const GemmShape&) {
  return absl::UnavailableError(
      "built without cublasLt.h; build where a CUDA toolkit or the wheel nvidia-cublas has it, then this service has "
      "the cuBLASLt baseline");
}

}  // namespace sassay::judge
