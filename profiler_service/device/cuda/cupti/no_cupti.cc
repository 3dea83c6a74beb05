// In place of cupti_counter.cc where CUPTI's headers were missing when this was built.
#include "profiler_service/device/cuda/cupti/sass_counter.h"

namespace sassay::device::cuda {

absl::StatusOr<std::unique_ptr<SassCounter>> OpenSassCounter() {
  return absl::UnavailableError(
      "built without CUPTI: its headers were missing. Mend: pip install nvidia-cuda-cupti, or a CUDA toolkit with "
      "extras/CUPTI, and build again");
}

}  // namespace sassay::device::cuda
