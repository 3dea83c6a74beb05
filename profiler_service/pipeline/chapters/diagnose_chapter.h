// Diagnoses on request: after the verdict is certain, one after the other, and never beside somebody else's work.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_DIAGNOSE_CHAPTER_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_DIAGNOSE_CHAPTER_H_

#include <string>
#include <vector>

#include "profiler_service/evidence/sass_summary.h"
#include "profiler_service/pipeline/chapters/chapter.h"
#include "profiler_service/pipeline/job.h"
#include "profiler_service/verdict/observations.h"

namespace sassay::pipeline {

// What the stages before say to it.
struct DiagnoseGiven {
  // What evaluate or timing failed of; null if they did not.
  const verdict::Failure* failure = nullptr;
  // What evidence counted, hottest first; where that is nothing, why.
  std::vector<evidence::HotInstruction> hot;
  std::string why_not_hot;
  // After which a kernel that has hung before hangs again.
  absl::Duration device_deadline = absl::Seconds(10);
  // What evaluate's calls took on the device: a kernel may know the profiler and never end under it.
  absl::Duration plain;
};

// Runs every diagnosis that the job asks for. Files go to the job's keep_artifact.
verdict::DiagnoseSeen RunDiagnoses(const Chapter& chapter, const Job& job, const DiagnoseGiven& given);

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_DIAGNOSE_CHAPTER_H_
