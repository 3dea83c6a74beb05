#include "profiler_service/judge/baseline/libraries.h"

namespace sassay::judge {

absl::StatusOr<std::unique_ptr<Baseline>> MakeCudnnAttentionBaseline(const BaselineRequest&, const AttentionShape&) {
  return absl::UnavailableError(
      "built without cuDNN headers; build where cudnn.h (wheel nvidia-cudnn-cu13) and cudnn_frontend.h (wheel "
      "nvidia-cudnn-frontend) are found, then this service has the cuDNN baseline");
}

}  // namespace sassay::judge
