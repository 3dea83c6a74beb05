// Small decisions of the pipeline, pure, and the buffers that sanitize hands to a runner.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_CASES_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_CASES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/workload/definition.h"
#include "profiler_service/evaluate/evaluate.h"
#include "profiler_service/evaluate/judge_case.h"
#include "profiler_service/verdict/observations.h"

namespace sassay::pipeline {

// Calls that a whole job makes on an emulated device, in units of a plain one: setup and evaluate, the checked run
// (about three times as slow), the counted run.
inline constexpr int kEmulatedCalls = 10;

// The input cases of a workload: the definition's distributions, then those that find cheats ("structured", "small").
// On an emulated device, where a call may take seconds, three of them and no repetition beyond 10 MFLOP: deterministic,
// so that a replay makes the same cases. Golden tensors are one case.
evaluate::EvaluatePlan CasesFor(const Definition& definition, const sassay::v1::Workload& workload, bool emulated);

// The first of them, whose reference later stages find in place.
std::string FirstDistribution(const Definition& definition);

// Whether a checked run may tell why evaluate failed. Not where the failure is ours, the launch was refused, or an
// endless kernel would only use up another deadline.
bool SanitizeCanExplain(const verdict::Failure& failure);
// Memory misuse and faults are diagnosed even if nobody asked for the stage.
bool IsMisuse(const verdict::Failure& failure);
// Whether the device itself may be unusable now, by whomever: it is probed then.
bool MayBeTheDevices(const verdict::Failure& failure);

// What a failure of the judge or a runner means as a Status: CANCELLED, UNAVAILABLE for a lost worker, INTERNAL.
absl::Status StatusOf(const verdict::Failure& failure);

// The judge's buffers for one run, with the bundle cut to the plan that runs.
class CandidateBuffers {
 public:
  CandidateBuffers(const admission::AdmittedBundle& bundle, evaluate::JudgePort& judge, absl::Time deadline,
                   const evaluate::Seeds& seeds, std::string distribution)
      : admitted_(bundle), seeds_(seeds), distribution_(std::move(distribution)), case_(bundle, judge, deadline) {}

  // Decoys first. A Status is our own trouble, UNAVAILABLE if the judge was lost.
  absl::Status Prepare();
  // The inputs that count.
  absl::Status Refill();
  // Whether the outputs are what those inputs give: DATA_LOSS says what is wrong; other failures are our own trouble.
  absl::Status CheckOutputs();
  // What the latest of these calls failed of.
  const evaluate::MaybeFailure& trouble() const { return trouble_; }

  const sassay::v1::Bundle& bundle() const { return bundle_; }
  const std::vector<sassay::worker::SharedRegion>& regions() const { return case_.regions(); }
  const std::vector<int>& descriptors() const { return descriptors_; }

 private:
  const admission::AdmittedBundle& admitted_;
  const evaluate::Seeds& seeds_;
  const std::string distribution_;
  evaluate::JudgeCase case_;
  sassay::v1::Bundle bundle_;
  std::vector<int> descriptors_;
  evaluate::MaybeFailure trouble_;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_CASES_H_
