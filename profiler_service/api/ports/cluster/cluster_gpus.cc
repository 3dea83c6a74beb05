#include "profiler_service/api/ports/cluster/cluster_gpus.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sassay::api {

std::vector<sassay::v1::Gpu> ClusterGpus::List() const {
  std::vector<sassay::v1::Gpu> gpus;
  if (own_ != nullptr) gpus = own_->List();
  for (const cluster::NodeRegistry::NodePtr& node : nodes_.Living()) {
    for (const sassay::v1::NodeGpu& registered : node->facts.gpus()) {
      sassay::v1::Gpu& gpu = gpus.emplace_back();
      gpu.set_uuid(registered.uuid());
      gpu.set_model(registered.device().model());
    }
  }
  return gpus;
}

bool ClusterGpus::IsOwn(absl::string_view gpu) const {
  if (own_ == nullptr) return false;
  const std::vector<sassay::v1::Gpu> own = own_->List();
  return std::any_of(own.begin(), own.end(), [&](const sassay::v1::Gpu& each) { return each.uuid() == gpu; });
}

absl::Status ClusterGpus::NotHere(absl::string_view gpu, absl::string_view what) const {
  for (const cluster::NodeRegistry::NodePtr& node : nodes_.Living()) {
    if (!node->Has(gpu)) continue;
    return absl::FailedPreconditionError(absl::StrCat("GPU ", gpu, " is one of node ", node->name, " on ",
                                                      node->facts.host(), ": ask the node there to ", what));
  }
  return absl::NotFoundError(absl::StrCat("no GPU '", gpu, "' here; ListGpus names them"));
}

absl::Status ClusterGpus::Close(absl::string_view gpu, absl::string_view why) {
  return IsOwn(gpu) ? own_->Close(gpu, why) : absl::OkStatus();
}

absl::Status ClusterGpus::Open(absl::string_view gpu) { return IsOwn(gpu) ? own_->Open(gpu) : absl::OkStatus(); }

void ClusterGpus::OnSeatsChange(std::function<void(uint32_t)> listener) {
  if (own_ != nullptr) own_->OnSeatsChange(std::move(listener));
}

absl::StatusOr<uint32_t> ClusterGpus::RestartWorkers(absl::string_view gpu, absl::string_view why) {
  return IsOwn(gpu) ? own_->RestartWorkers(gpu, why) : NotHere(gpu, "restart its workers");
}

absl::StatusOr<sassay::v1::RunCanaryResponse> ClusterGpus::RunCanary(absl::string_view gpu, absl::Duration wait) {
  return IsOwn(gpu) ? own_->RunCanary(gpu, wait) : NotHere(gpu, "run the canary");
}

std::vector<sassay::v1::GpuPulse> ClusterGpus::Pulses() const {
  return own_ == nullptr ? std::vector<sassay::v1::GpuPulse>() : own_->Pulses();
}

}  // namespace sassay::api
