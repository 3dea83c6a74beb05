#include "profiler_service/queue/running_job.h"

#include <string>

#include "common/base/proto_time.h"
#include "profiler_service/queue/bounded.h"

namespace sassay::queue {

void RunningJob::Say(sassay::v1::Event event) {
  BoundTexts(event);
  SetTimestamp(now_(), *event.mutable_at());
  append_(lease_, std::move(event));
}

void RunningJob::SeatTaken(absl::string_view gpu) {
  absl::MutexLock lock(&mutex_);
  gpu_ = std::string(gpu);
  seated_at_ = now_();
}

std::pair<std::string, absl::Time> RunningJob::seat() const {
  absl::MutexLock lock(&mutex_);
  return {gpu_, seated_at_};
}

void RunningJob::StageStarted(sassay::v1::Stage stage, absl::string_view device) {
  sassay::v1::Event event;
  event.mutable_stage_started()->set_stage(stage);
  event.mutable_stage_started()->set_device(std::string(device));
  Say(std::move(event));
}

void RunningJob::StageFinished(const sassay::v1::StageReport& report) {
  stage_finished_(report);
  sassay::v1::Event event;
  *event.mutable_stage_finished()->mutable_report() = report;
  Say(std::move(event));
}

}  // namespace sassay::queue
