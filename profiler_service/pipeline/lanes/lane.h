// A lane: one device with its judge, its runners and its lease. What the pipeline needs of a device, and no more; tests
// give lanes without processes.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_LANES_LANE_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_LANES_LANE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "profiler_service/admission/admission.h"
#include "profiler_service/diagnose/diagnosed.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/pipeline/lanes/device_lease.h"
#include "profiler_service/sanitize/sanitize.h"
#include "profiler_service/timing/timing.h"
#include "profiler_service/wire/kill_switch.h"
#include "profiler_service/wire/runner_pool.h"
#include "profiler_service/wire/worker.pb.h"
#include "sassay/v1/control.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::pipeline {

// Thread-safe: several jobs use a lane at once, each with workers of its own.
class Lane {
 public:
  // What the judge and a fresh runner may take to come up.
  static constexpr absl::Duration kProbeTimeout = absl::Seconds(60);

  // The device's memory, which its users share, and how many jobs it takes at once.
  Lane(uint64_t memory_bytes, uint32_t seats) : lease_(memory_bytes), seats_(seats) {}
  virtual ~Lane() = default;

  // "cuda:GPU-…", "emulated:sm_90a#0": no other lane has the same.
  virtual const std::string& specification() const = 0;
  virtual const sassay::worker::DeviceDescription& device() const = 0;
  // Runners that these workers start die when the switch is pulled.
  virtual std::unique_ptr<evaluate::Workers> MakeWorkers(wire::KillSwitch& kill_switch) = 0;
  virtual absl::StatusOr<sanitize::Sanitization> Sanitize(const sanitize::SanitizeRequest& request) = 0;
  // NCU or DEBUG; the caller holds the lease exclusively.
  virtual absl::StatusOr<diagnose::Diagnosed> Diagnose(sassay::v1::Diagnosis kind, const wire::CandidateRun& run) = 0;
  // While what it returns lives, runners that were used up are not replaced: a job that is about to be timed would wait
  // for them. Null on a lane without spares.
  virtual std::unique_ptr<wire::RunnerPool::NoRefill> HoldRefill() { return nullptr; }
  // The caller holds the lease exclusively.
  virtual absl::StatusOr<verdict::TimingSeen> Time(const timing::TimingRequest& request) = 0;
  // Whether the judge answers, after a new start if need be, and the device works: a runner that waits runs a kernel of
  // ours there, or a fresh one comes up. Asked before a candidate is blamed, and after a kernel has hung. That runner
  // is the one that the next who asks gets. CANCELLED when the switch (may be null) is pulled.
  virtual absl::Status Probe(absl::Time deadline, wire::KillSwitch* kill_switch) = 0;

  // Ends judge, runners and spares, whatever they are doing; who had them is told that they are lost. How many runners
  // ended. 0 on a lane without processes, as are the next two.
  virtual uint32_t EndWorkers(absl::string_view why) { return 0; }
  // The two canary kernels; the caller holds the lease exclusively. Failures as Control.RunCanary's; DATA_LOSS if the
  // device computed something wrong.
  virtual absl::StatusOr<sassay::v1::RunCanaryResponse> RunCanary(absl::Time deadline) {
    return absl::UnavailableError("a lane without processes");
  }
  // The process of the runner on which a candidate went wrong last; 0 if it is not known.
  virtual uint32_t troubled_runner() const { return 0; }
  // Fills in what its workers are doing.
  virtual void FeelPulse(sassay::v1::GpuPulse& pulse) {}

  bool emulated() const { return device().kind() == "emulated"; }
  // How observers and earlier attempts call it: "NVIDIA H200 GPU-…".
  std::string label() const;
  // How Control and the monitor call it: NVML's UUID, or "emulated:sm_90a#0".
  const std::string& gpu() const { return device().uuid(); }
  DeviceLease& lease() { return lease_; }
  uint32_t seats() const { return seats_; }

 private:
  DeviceLease lease_;
  const uint32_t seats_;
};

// What admission checks a plan against.
admission::DeviceFacts FactsOf(const Lane& lane);
// What a reader of its verdicts must know of the device; nothing for most.
std::vector<std::string> CaveatsOf(const Lane& lane);
// Device and driver.
sassay::v1::Versions VersionsOf(const Lane& lane);
// Whether admission says the same on both.
bool SameKind(const Lane& a, const Lane& b);

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_LANES_LANE_H_
