#include "profiler_service/pipeline/witness.h"

#include "absl/strings/strip.h"
#include "profiler_service/evaluate/evaluate.h"
#include "profiler_service/timing/baseline_history.h"

namespace sassay::pipeline {
namespace {

using sassay::v1::Telemetry;
using sassay::v1::WorkerObserved;

WorkerObserved::Happening HappeningOf(wire::Happening happening) {
  switch (happening) {
    case wire::Happening::kStarted:
      return WorkerObserved::STARTED;
    case wire::Happening::kEnded:
      return WorkerObserved::ENDED;
    case wire::Happening::kDied:
      return WorkerObserved::DIED;
    case wire::Happening::kFailedToStart:
      return WorkerObserved::FAILED_TO_START;
    case wire::Happening::kKilledSilent:
      return WorkerObserved::KILLED_SILENT;
  }
  return WorkerObserved::HAPPENING_UNSPECIFIED;
}

// As Lane::gpu() has it.
std::string GpuOf(absl::string_view device) { return std::string(absl::StripPrefix(device, "cuda:")); }

}  // namespace

void Witness::StageEnded(const sassay::v1::StageReport& report) const {
  if (hub_ == nullptr) return;
  Telemetry message;
  *message.mutable_stage() = Here<sassay::v1::StageObserved>();
  *message.mutable_stage()->mutable_report() = report;
  hub_->Publish(std::move(message));
}

void Witness::Failed(const verdict::Failure& failure, bool proven, uint32_t pid) const {
  if (hub_ == nullptr || !evaluate::NeedsProof(failure)) return;
  Telemetry message;
  *message.mutable_fault() = Here<sassay::v1::FaultObserved>();
  message.mutable_fault()->set_code(failure.code);
  message.mutable_fault()->set_blamed(proven);
  message.mutable_fault()->set_pid(pid);
  hub_->Publish(std::move(message));
}

void Witness::Timed(const sassay::v1::Timing& timing) const {
  if (hub_ == nullptr || timing.blocks() == 0) return;
  Telemetry message;
  sassay::v1::TimingObserved& observed = *message.mutable_timing();
  observed = Here<sassay::v1::TimingObserved>();
  observed.set_blocks(timing.blocks());
  observed.set_void_blocks(timing.void_blocks());
  *observed.mutable_voided_samples() = timing.voided_samples();
  observed.set_clock_event_reasons(timing.clock_event_reasons());
  const sassay::v1::BaselineHistory& history = timing.baseline_history();
  if (history.measurements() >= timing::kFewestRemembered && history.median_ns() > 0) {
    observed.set_baseline_over_history(history.measured_ns() / history.median_ns());
  }
  hub_->Publish(std::move(message));
}

void TellOfWorker(telemetry::Hub* hub, const WorkerNews& news) {
  if (hub == nullptr) return;
  Telemetry message;
  WorkerObserved& worker = *message.mutable_worker();
  worker.set_uuid(GpuOf(news.device));
  worker.set_kind(news.kind);
  worker.set_happening(HappeningOf(news.happening));
  worker.set_pid(static_cast<uint32_t>(news.pid));
  worker.set_reason(news.reason);
  hub->Publish(std::move(message));
}

}  // namespace sassay::pipeline
