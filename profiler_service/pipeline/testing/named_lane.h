// A lane of which only its name, its health and what it was told matter.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_TESTING_NAMED_LANE_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_TESTING_NAMED_LANE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "profiler_service/pipeline/lanes/lane.h"

namespace sassay::pipeline {

// A lane without processes, with two seats. Public members are the test's handles.
class NamedLane : public Lane {
 public:
  explicit NamedLane(const std::string& name, const std::string& kind = "cuda") : Lane(1 << 20, 2), name_(name) {
    device_.set_kind(kind);
    device_.set_model("GPU");
    device_.set_uuid(name);
  }
  const std::string& specification() const override { return name_; }
  const sassay::worker::DeviceDescription& device() const override { return device_; }
  std::unique_ptr<evaluate::Workers> MakeWorkers(wire::KillSwitch&) override { return nullptr; }
  absl::StatusOr<diagnose::Diagnosed> Diagnose(sassay::v1::Diagnosis, const wire::CandidateRun&) override {
    return absl::UnimplementedError("no diagnosis");
  }
  absl::StatusOr<sanitize::Sanitization> Sanitize(const sanitize::SanitizeRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::StatusOr<verdict::TimingSeen> Time(const timing::TimingRequest&) override {
    return absl::UnimplementedError("");
  }
  absl::Status Probe(absl::Time, wire::KillSwitch*) override {
    ++probes_;
    return well_ ? absl::OkStatus() : absl::UnavailableError("still dead");
  }
  uint32_t EndWorkers(absl::string_view why) override { return end_workers_(why); }
  absl::StatusOr<sassay::v1::RunCanaryResponse> RunCanary(absl::Time) override { return run_canary_(); }
  void FeelPulse(sassay::v1::GpuPulse& pulse) override { pulse.set_judge_pid(judge_pid_); }

  std::atomic<bool> well_{false};
  std::atomic<int> probes_{0};
  std::function<uint32_t(absl::string_view why)> end_workers_ = [](absl::string_view) { return 0u; };
  std::function<absl::StatusOr<sassay::v1::RunCanaryResponse>()> run_canary_ = [] {
    return sassay::v1::RunCanaryResponse();
  };
  uint32_t judge_pid_ = 0;

 private:
  const std::string name_;
  sassay::worker::DeviceDescription device_;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_TESTING_NAMED_LANE_H_
