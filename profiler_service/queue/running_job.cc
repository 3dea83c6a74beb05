#include "profiler_service/queue/running_job.h"

#include <string>

#include "profiler_service/queue/own_verdicts.h"

namespace sassay::queue {

void RunningJob::Say(sassay::v1::Event event) {
  SetTimestamp(now_(), *event.mutable_at());
  append_(lease_, std::move(event));
}

void RunningJob::StageStarted(sassay::v1::Stage stage, absl::string_view device) {
  sassay::v1::Event event;
  event.mutable_stage_started()->set_stage(stage);
  event.mutable_stage_started()->set_device(std::string(device));
  Say(std::move(event));
}

void RunningJob::StageFinished(const sassay::v1::StageReport& report) {
  sassay::v1::Event event;
  *event.mutable_stage_finished()->mutable_report() = report;
  Say(std::move(event));
}

}  // namespace sassay::queue
