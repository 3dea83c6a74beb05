#include "profiler_service/judge/baseline/baseline.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sassay::judge {

absl::StatusOr<std::unique_ptr<Baseline>> MakeBaseline(const sassay::v1::Workload& workload, device::Device& device,
                                                       const BaselineOptions&) {
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
  return absl::UnimplementedError(absl::StrCat("no code for the baseline ", name));
}

}  // namespace sassay::judge
