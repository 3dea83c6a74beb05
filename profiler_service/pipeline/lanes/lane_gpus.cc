#include "profiler_service/pipeline/lanes/lane_gpus.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::pipeline {
namespace {

// What the judge may take for it, once the GPU is free: 0.2 s on a GPU that is well.
constexpr absl::Duration kCanaryTimeout = absl::Seconds(30);

}  // namespace

absl::StatusOr<size_t> LaneGpus::Find(absl::string_view gpu) const {
  for (size_t index = 0; index < lanes_.size(); ++index) {
    if (lanes_.lane(index).gpu() == gpu) return index;
  }
  return absl::NotFoundError(absl::StrCat("no GPU '", gpu, "' here; ListGpus names them"));
}

std::vector<sassay::v1::Gpu> LaneGpus::List() const {
  std::vector<sassay::v1::Gpu> gpus;
  for (size_t index = 0; index < lanes_.size(); ++index) {
    sassay::v1::Gpu& gpu = gpus.emplace_back();
    gpu.set_uuid(lanes_.lane(index).gpu());
    gpu.set_model(lanes_.lane(index).device().model());
  }
  return gpus;
}

absl::Status LaneGpus::Close(absl::string_view gpu, absl::string_view why) {
  ASSIGN_OR_RETURN(const size_t index, Find(gpu));
  lanes_.Close(index, why);
  return absl::OkStatus();
}

absl::Status LaneGpus::Open(absl::string_view gpu) {
  ASSIGN_OR_RETURN(const size_t index, Find(gpu));
  lanes_.Open(index);
  return absl::OkStatus();
}

std::vector<std::string> LaneGpus::FreeModels() const {
  std::set<std::string> models;
  for (size_t index = 0; index < lanes_.size(); ++index) {
    if (lanes_.has_room(index)) models.insert(lanes_.lane(index).device().model());
  }
  return {models.begin(), models.end()};
}

absl::StatusOr<uint32_t> LaneGpus::RestartWorkers(absl::string_view gpu, absl::string_view why) {
  ASSIGN_OR_RETURN(const size_t index, Find(gpu));
  lanes_.Abandon(index, why);
  return lanes_.lane(index).EndWorkers(why);
}

absl::StatusOr<sassay::v1::RunCanaryResponse> LaneGpus::RunCanary(absl::string_view gpu, absl::Duration wait) {
  ASSIGN_OR_RETURN(const size_t index, Find(gpu));
  Lane& lane = lanes_.lane(index);
  if (lane.emulated()) return absl::FailedPreconditionError("emulated device: it has no times");
  ASSIGN_OR_RETURN(const DeviceLease::Held alone,
                   lane.lease().Acquire(DeviceLease::Mode::kExclusive, 0, SteadyNow() + wait, [] { return false; }));
  return lane.RunCanary(SteadyNow() + kCanaryTimeout);
}

std::vector<sassay::v1::GpuPulse> LaneGpus::Pulses() const {
  std::vector<sassay::v1::GpuPulse> pulses;
  for (size_t index = 0; index < lanes_.size(); ++index) {
    sassay::v1::GpuPulse& pulse = pulses.emplace_back();
    pulse.set_uuid(lanes_.lane(index).gpu());
    pulse.set_running(static_cast<uint32_t>(lanes_.jobs(index)));
    lanes_.lane(index).FeelPulse(pulse);
  }
  return pulses;
}

}  // namespace sassay::pipeline
