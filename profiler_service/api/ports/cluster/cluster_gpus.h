// The GPUs of a whole cluster, as operators at a front end see them.
#ifndef SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_CLUSTER_GPUS_H_
#define SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_CLUSTER_GPUS_H_

#include <functional>
#include <vector>

#include "profiler_service/cluster/node_registry.h"
#include "profiler_service/pipeline/lanes/gpus.h"

namespace sassay::api {

// Those of this process, if it has any, and those of living nodes. What is done to a node's GPU is done by its node:
// holds are in the store, and the node follows them; what acts on workers (RestartWorkers, RunCanary) must be asked of
// the node and is FAILED_PRECONDITION here. Thread-safe. `own`, which may be null, and `nodes` outlive it.
class ClusterGpus : public pipeline::Gpus {
 public:
  ClusterGpus(pipeline::Gpus* own, cluster::NodeRegistry& nodes) : own_(own), nodes_(nodes) {}

  // Its own first, then by node; a GPU's model is what its node registered.
  std::vector<sassay::v1::Gpu> List() const override;
  // For a GPU of a node, or of nobody any more: OK, nothing to do here.
  absl::Status Close(absl::string_view gpu, absl::string_view why) override;
  absl::Status Open(absl::string_view gpu) override;
  // Of its own GPUs.
  uint32_t open_seats() const override { return own_ == nullptr ? 0 : own_->open_seats(); }
  void OnSeatsChange(std::function<void(uint32_t)> listener) override;
  absl::StatusOr<uint32_t> RestartWorkers(absl::string_view gpu, absl::string_view why) override;
  absl::StatusOr<sassay::v1::RunCanaryResponse> RunCanary(absl::string_view gpu, absl::Duration wait) override;
  // Of its own GPUs: a node's are told to the monitor beside it.
  std::vector<sassay::v1::GpuPulse> Pulses() const override;

 private:
  bool IsOwn(absl::string_view gpu) const;
  // Why that cannot be done to it from here.
  absl::Status NotHere(absl::string_view gpu, absl::string_view what) const;

  pipeline::Gpus* const own_;
  cluster::NodeRegistry& nodes_;
};

}  // namespace sassay::api

#endif  // SASSAY_PROFILER_SERVICE_API_PORTS_CLUSTER_CLUSTER_GPUS_H_
