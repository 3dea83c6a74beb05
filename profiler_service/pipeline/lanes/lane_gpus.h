// The service's GPUs as operators and the monitor act on them, over its lanes.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_LANES_LANE_GPUS_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_LANES_LANE_GPUS_H_

#include <functional>
#include <vector>

#include "profiler_service/pipeline/lanes/gpus.h"
#include "profiler_service/pipeline/lanes/lanes.h"

namespace sassay::pipeline {

// Thread-safe. `lanes` outlives it.
class LaneGpus : public Gpus {
 public:
  explicit LaneGpus(Lanes& lanes) : lanes_(lanes) {}

  std::vector<sassay::v1::Gpu> List() const override;
  absl::Status Close(absl::string_view gpu, absl::string_view why) override;
  absl::Status Open(absl::string_view gpu) override;
  std::vector<std::string> FreeModels() const override;
  uint32_t open_seats() const override { return lanes_.open_seats(); }
  void OnSeatsChange(std::function<void(uint32_t)> listener) override { lanes_.OnSeatsChange(std::move(listener)); }
  // The jobs are told before the first worker ends, so that none takes its end for the candidate's doing.
  absl::StatusOr<uint32_t> RestartWorkers(absl::string_view gpu, absl::string_view why) override;
  absl::StatusOr<sassay::v1::RunCanaryResponse> RunCanary(absl::string_view gpu, absl::Duration wait) override;
  std::vector<sassay::v1::GpuPulse> Pulses() const override;

 private:
  // The lane of that id.
  absl::StatusOr<size_t> Find(absl::string_view gpu) const;

  Lanes& lanes_;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_LANES_LANE_GPUS_H_
