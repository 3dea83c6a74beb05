// A lane of real processes: a supervised judge and the service's pool of runners.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_LANES_PROCESS_LANE_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_LANES_PROCESS_LANE_H_

#include <memory>
#include <string>

#include "profiler_service/pipeline/lanes/judge_supervisor.h"
#include "profiler_service/pipeline/lanes/lane.h"
#include "profiler_service/wire/runner_pool.h"

namespace sassay::pipeline {

// Programs of this machine; empty where there is none.
struct LaneTools {
  std::string compute_sanitizer;
  std::string ncu;
  std::string cuda_gdb;
};

// Thread-safe. `pool` outlives it.
class ProcessLane : public Lane {
 public:
  // Keeps `spares` runners ready and takes `seats` jobs at once.
  ProcessLane(std::string specification, std::unique_ptr<JudgeSupervisor> judge, wire::RunnerPool& pool,
              LaneTools tools, uint32_t spares, uint32_t seats);

  const std::string& specification() const override { return specification_; }
  const sassay::worker::DeviceDescription& device() const override { return judge_->device(); }
  std::unique_ptr<evaluate::Workers> MakeWorkers(wire::KillSwitch& kill_switch) override;
  absl::StatusOr<sanitize::Sanitization> Sanitize(const sanitize::SanitizeRequest& request) override;
  absl::StatusOr<diagnose::Diagnosed> Diagnose(sassay::v1::Diagnosis kind, const wire::CandidateRun& run) override;
  std::unique_ptr<wire::RunnerPool::NoRefill> HoldRefill() override;
  absl::StatusOr<verdict::TimingSeen> Time(const timing::TimingRequest& request) override;
  absl::Status Probe(absl::Time deadline, wire::KillSwitch* kill_switch) override;
  uint32_t EndWorkers(absl::string_view why) override;
  absl::StatusOr<sassay::v1::RunCanaryResponse> RunCanary(absl::Time deadline) override;
  void FeelPulse(sassay::v1::GpuPulse& pulse) override;
  uint32_t troubled_runner() const override;

  JudgeSupervisor& judge() { return *judge_; }

 private:
  const std::string specification_;
  const std::unique_ptr<JudgeSupervisor> judge_;
  wire::RunnerPool& pool_;
  const LaneTools tools_;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_LANES_PROCESS_LANE_H_
