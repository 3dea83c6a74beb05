// What a candidate is timed against where that is a bundle: one that an operator trusts, or the candidate itself.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_BASELINE_CHAPTER_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_BASELINE_CHAPTER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/workload/definition.h"
#include "profiler_service/admission/admission.h"
#include "profiler_service/evaluate/seed_pool.h"
#include "profiler_service/evaluate/workers.h"
#include "profiler_service/pipeline/chapters/chapter.h"
#include "profiler_service/timing/judged_sets.h"
#include "profiler_service/timing/timing.h"
#include "sassay/v1/bundle.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::pipeline {

// Where a baseline may come from. Everything outlives the job.
struct BaselineSources {
  const Definition& definition;
  const sassay::v1::Workload& workload;
  // The submission asked for A/A.
  bool itself = false;
  // The admitted reference, where that is a kernel; null otherwise.
  const admission::AdmittedBundle* reference = nullptr;
  const std::function<absl::StatusOr<std::string>(absl::string_view sha256)>& trusted_bundle;
  const admission::Limits& limits;
};

// The SHA-256 of the trusted bundle that is the workload's baseline: the one it names, or, where it names no baseline
// at all, the kernel that is its reference. Empty where the baseline is a library's or there is none.
std::string BaselineDigest(const Definition& definition, const sassay::v1::Workload& workload);

// A bundle in the baseline's place, with tensors of its own.
//
// Life cycle: Prepare makes it; it lives as long as one measurement. Thread-compatible. Ownership: frees the judge's
// memory; the chapter and the judge must outlive it.
class BaselineBundle {
 public:
  // Null where the baseline is no bundle's. NOT_FOUND: the bundle is not among the operator's, or was refused;
  // UNAVAILABLE, CANCELLED as the judge's; anything else: its tensors could not be made.
  static absl::StatusOr<std::unique_ptr<BaselineBundle>> Prepare(const Chapter& chapter, const BaselineSources& sources,
                                                                 evaluate::JudgePort& judge, evaluate::Seeds seeds,
                                                                 const timing::JudgedSets::Options& options);

  const timing::BundleBaseline& baseline() const { return baseline_; }

 private:
  BaselineBundle(admission::AdmittedBundle admitted, evaluate::Seeds seeds)
      : admitted_(std::move(admitted)), seeds_(std::move(seeds)) {}

  const admission::AdmittedBundle admitted_;
  // Not the candidate's: a baseline's output is the answer.
  const evaluate::Seeds seeds_;
  sassay::v1::Bundle bundle_;
  std::unique_ptr<timing::JudgedSets> sets_;
  timing::BundleBaseline baseline_;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_BASELINE_CHAPTER_H_
