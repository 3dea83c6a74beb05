// Sanitize, tool after tool: which tools, on which shape, and what a lost worker means.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_SANITIZE_CHAPTER_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_SANITIZE_CHAPTER_H_

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "profiler_service/admission/admission.h"
#include "profiler_service/pipeline/chapters/chapter.h"
#include "profiler_service/verdict/observations.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::pipeline {

// What sanitize needs besides.
struct SanitizeWish {
  // FAST or FULL.
  sassay::v1::SanitizePolicy policy = sassay::v1::SANITIZE_POLICY_FAST;
  // The bundle's plan for the definition's sanitize shape, where it has one: slow tools look at that.
  absl::optional<admission::AdmittedBundle> small;
  // Of one request to the emulator.
  absl::Duration emulated_deadline;
  // The candidate was right without a tool, and must be right under it. Where it was not, wrong outputs are no news.
  bool right_outputs = false;
  // What evaluate's calls took on the device; zero where they did not end.
  absl::Duration plain;
};

// Runs the stage. A tool whose run ended well has seen the call that was judged only if its outputs are right: else it
// is UNAVAILABLE, for a kernel may know that it is watched. A tool that loses a worker is tried a second time. After a
// finding that convicts, or a failed run, no further tool is asked: they would meet the same fault. Adds to the
// report's device time.
verdict::SanitizeSeen RunSanitize(const Chapter& chapter, const SanitizeWish& wish, sassay::v1::StageReport& report);

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_SANITIZE_CHAPTER_H_
