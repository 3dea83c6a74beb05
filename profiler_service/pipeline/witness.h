// What the pipeline shows to whoever watches (telemetry/hub.h): stages, faults, timings, workers.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_WITNESS_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_WITNESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "profiler_service/telemetry/hub.h"
#include "profiler_service/verdict/observations.h"
#include "profiler_service/wire/live_runners.h"
#include "sassay/v1/control.pb.h"

namespace sassay::pipeline {

// One job's. A null hub is allowed: nobody is told. Thread-compatible.
class Witness {
 public:
  Witness(telemetry::Hub* hub, std::string submission_id) : hub_(hub), submission_(std::move(submission_id)) {}

  // Where the job has its seat: what follows was seen there.
  void Seated(absl::string_view gpu) { gpu_ = std::string(gpu); }
  void StageEnded(const sassay::v1::StageReport& report) const;
  // A fault or a hang; other failures are passed over. `proven`: it is the candidate's own. `pid`: of its runner; 0 if
  // it is not known.
  void Failed(const verdict::Failure& failure, bool proven, uint32_t pid) const;
  // What was measured, or why that was void.
  void Timed(const sassay::v1::Timing& timing) const;

 private:
  template <typename Message>
  Message Here() const {
    Message message;
    message.set_uuid(gpu_);
    message.set_submission_id(submission_);
    return message;
  }

  telemetry::Hub* const hub_;
  const std::string submission_;
  std::string gpu_;
};

// A judge or a runner, by its device's specification.
struct WorkerNews {
  std::string device;
  std::string kind;
  wire::Happening happening;
  pid_t pid;
  std::string reason;
};
void TellOfWorker(telemetry::Hub* hub, const WorkerNews& news);

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_WITNESS_H_
