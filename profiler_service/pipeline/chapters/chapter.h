// What the longer chapters of a candidate's life share: the job's device, bundle and clock.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_CHAPTER_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_CHAPTER_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/admission/admission.h"
#include "profiler_service/evaluate/seed_pool.h"
#include "profiler_service/pipeline/cases.h"
#include "profiler_service/pipeline/lanes/device_lease.h"
#include "profiler_service/pipeline/lanes/lane.h"
#include "profiler_service/wire/candidate_run.h"
#include "profiler_service/wire/kill_switch.h"

namespace sassay::pipeline {

// Lent by the job for the time of a stage; everything outlives the chapter.
struct Chapter {
  Lane& lane;
  const admission::AdmittedBundle& bundle;
  const evaluate::Seeds& seeds;
  std::string distribution;  // of the inputs: evaluate's first case
  absl::Time deadline;       // of SteadyNow
  wire::KillSwitch& kill_switch;
  std::function<absl::StatusOr<DeviceLease::Held>(DeviceLease::Mode)> lease;
  // Nobody has asked to stop.
  std::function<bool()> goes;
  // For the verdict.
  std::vector<std::string>& notes;
};

// The run of a candidate in the judge's buffers, which outlive it.
inline void Lend(const Chapter& chapter, CandidateBuffers& buffers, wire::CandidateRun& run) {
  run.device = chapter.lane.specification();
  run.bundle = &buffers.bundle();
  run.regions = buffers.regions();
  run.descriptors = buffers.descriptors();
  run.refill_after_setup = [&buffers] { return buffers.Refill(); };
  run.kill_switch = &chapter.kill_switch;
}

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_CHAPTER_H_
