#include "monitor/sources/service/telemetry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_json.h"
#include "common/base/proto_time.h"

namespace sassay::monitor {
namespace {

constexpr absl::Duration kFarthest = absl::Minutes(1);

class Samples {
 public:
  explicit Samples(absl::Time at) : at_(at) {}
  void Add(const std::string& gpu, const char* signal, double value, std::string text = "") {
    samples_.push_back({at_, gpu, signal, value, std::move(text)});
  }
  std::vector<Sample> Take() { return std::move(samples_); }

 private:
  const absl::Time at_;
  std::vector<Sample> samples_;
};

void AddHeartbeat(const v1::Heartbeat& heartbeat, Samples& samples) {
  for (const v1::GpuPulse& gpu : heartbeat.gpus()) {
    samples.Add(gpu.uuid(), "judge.silent_seconds", static_cast<double>(gpu.judge_silent_ns()) * 1e-9);
    samples.Add(gpu.uuid(), "runner.overdue_seconds", static_cast<double>(gpu.runner_overdue_ns()) * 1e-9);
  }
}

void AddFault(const v1::FaultObserved& fault, Samples& samples) {
  samples.Add(fault.uuid(), fault.blamed() ? "fault.blamed" : "fault.unblamed", static_cast<double>(fault.code()),
              absl::StrCat(EnumName(fault.code()), " ", fault.submission_id()));
}

void AddTiming(const v1::TimingObserved& timing, Samples& samples) {
  if (timing.blocks() > 0) {
    samples.Add(timing.uuid(), "timing.void_ratio", static_cast<double>(timing.void_blocks()) / timing.blocks(),
                timing.submission_id());
  }
  if (timing.baseline_over_history() > 0) {
    samples.Add(timing.uuid(), "timing.baseline_ratio", timing.baseline_over_history(), timing.submission_id());
  }
}

// Null: nothing to worry about.
const char* WorkerSignal(const v1::WorkerObserved& worker) {
  const bool judge = worker.kind() == "judge";
  switch (worker.happening()) {
    case v1::WorkerObserved::DIED:
    case v1::WorkerObserved::FAILED_TO_START:
      return judge ? "judge.died" : "runner.died";
    case v1::WorkerObserved::KILLED_SILENT:
      return judge ? "judge.died" : "runner.killed";
    default:
      return nullptr;
  }
}

void AddWorker(const v1::WorkerObserved& worker, Samples& samples) {
  const char* signal = WorkerSignal(worker);
  if (signal == nullptr) return;
  samples.Add(worker.uuid(), signal, 1, absl::StrCat(EnumName(worker.happening()), ": ", worker.reason()));
}

}  // namespace

std::vector<Sample> SamplesOf(const v1::Telemetry& message, absl::Time at) {
  Samples samples(at);
  switch (message.what_case()) {
    case v1::Telemetry::kHeartbeat:
      AddHeartbeat(message.heartbeat(), samples);
      break;
    case v1::Telemetry::kStage:
      samples.Add(message.stage().uuid(), "stage.seconds",
                  static_cast<double>(message.stage().report().wall_ns()) * 1e-9,
                  EnumName(message.stage().report().stage()));
      break;
    case v1::Telemetry::kFault:
      AddFault(message.fault(), samples);
      break;
    case v1::Telemetry::kTiming:
      AddTiming(message.timing(), samples);
      break;
    case v1::Telemetry::kWorker:
      AddWorker(message.worker(), samples);
      break;
    case v1::Telemetry::kRelease:
      samples.Add(message.release().uuid(), "gpu.release_asked", 1,
                  absl::StrCat(message.release().actor(), ": ", message.release().reason()));
      break;
    case v1::Telemetry::WHAT_NOT_SET:
      break;
  }
  return samples.Take();
}

absl::Time SteadyTimeOf(const v1::Telemetry& message, absl::Time wall_now, absl::Time steady_now) {
  if (!message.has_at()) return steady_now;
  const absl::Time wall = absl::FromUnixSeconds(message.at().seconds()) + absl::Nanoseconds(message.at().nanos());
  const absl::Duration age = wall_now - wall;
  if (age < absl::ZeroDuration() || age > kFarthest) return steady_now;
  return steady_now - age;
}

}  // namespace sassay::monitor
