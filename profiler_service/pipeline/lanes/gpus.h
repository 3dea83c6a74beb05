// What operators and the monitor can do to the service's GPUs, and see of them.
//
// Why an interface: the api acts on GPUs without knowing lanes, and tests give GPUs that are slow, hot or gone.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_LANES_GPUS_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_LANES_GPUS_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sassay/v1/control.pb.h"

namespace sassay::pipeline {

// Thread-safe. GPUs are called by their ids in Control.ListGpus: NVML's UUID, or "emulated:sm_90a#0". NOT_FOUND for
// any other.
class Gpus {
 public:
  virtual ~Gpus() = default;

  // All GPUs, in the order of the service's devices: uuid and model; constant.
  virtual std::vector<sassay::v1::Gpu> List() const = 0;
  // A GPU that is closed gets no further job; those that have a place there go on. `why` is what jobs that find no
  // other GPU say. Idempotent.
  virtual absl::Status Close(absl::string_view gpu, absl::string_view why) = 0;
  virtual absl::Status Open(absl::string_view gpu) = 0;
  // Models of GPUs that take jobs and have a free place, each once, sorted; of all GPUs where that is not known.
  virtual std::vector<std::string> FreeModels() const {
    std::set<std::string> models;
    for (const sassay::v1::Gpu& gpu : List()) models.insert(gpu.model());
    return {models.begin(), models.end()};
  }
  // How many jobs there may be at once: places on GPUs that are open and work, and those that jobs still have on
  // others.
  virtual uint32_t open_seats() const = 0;
  // Called with open_seats whenever it may have changed, on any thread, one call after another; be quick, and call
  // nothing of this interface. At most one listener; an empty one ends it: no call is under way afterwards.
  virtual void OnSeatsChange(std::function<void(uint32_t)> listener) = 0;
  // Ends the GPU's judge, its runners and its spares; jobs that had them are lost attempts. How many runners ended.
  virtual absl::StatusOr<uint32_t> RestartWorkers(absl::string_view gpu, absl::string_view why) = 0;
  // The two canary kernels, alone on the GPU, which may be closed. Errors as Control.RunCanary's; DATA_LOSS if the GPU
  // computed something wrong.
  virtual absl::StatusOr<sassay::v1::RunCanaryResponse> RunCanary(absl::string_view gpu, absl::Duration wait) = 0;
  // How each GPU's workers are, in the order of List.
  virtual std::vector<sassay::v1::GpuPulse> Pulses() const = 0;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_LANES_GPUS_H_
