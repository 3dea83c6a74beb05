// One measurement: the candidate's sets of tensors, the baseline's, and the rules by which both are timed.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_TIMING_CHAPTER_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_TIMING_CHAPTER_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "profiler_service/evaluate/seed_pool.h"
#include "profiler_service/pipeline/chapters/baseline_chapter.h"
#include "profiler_service/pipeline/chapters/chapter.h"
#include "profiler_service/timing/baseline_history.h"
#include "profiler_service/verdict/observations.h"

namespace sassay::pipeline {

// What the job says to it. Lent for the call.
struct TimingGiven {
  const BaselineSources& baselines;
  // Where the baseline's own seeds come from.
  const evaluate::SeedPool& seeds;
  // Device time of all calls of evaluate: how long one may last.
  absl::Duration evaluated;
  // Of one measurement (--timing-budget).
  absl::Duration budget;
  // Of one call of the reference, where that is a kernel.
  absl::Duration device_deadline;
  // What baselines took before.
  timing::BaselineHistory& baseline_history;
};

// Times the candidate once, with the device to itself: the caller holds the lease. A candidate's failure is in what it
// returns. UNAVAILABLE: a worker was lost; CANCELLED; anything else: why there can be no time.
absl::StatusOr<verdict::TimingSeen> TimeAgainstBaseline(const Chapter& chapter, const TimingGiven& given);

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_TIMING_CHAPTER_H_
