// What executed: counted in a run of its own, and what evaluate saw when it left launches out.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_EVIDENCE_CHAPTER_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_EVIDENCE_CHAPTER_H_

#include "absl/time/time.h"
#include "common/workload/definition.h"
#include "profiler_service/evaluate/evaluate.h"
#include "profiler_service/evidence/evidence.h"
#include "profiler_service/pipeline/chapters/chapter.h"
#include "profiler_service/verdict/observations.h"
#include "sassay/v1/evidence.pb.h"

namespace sassay::pipeline {

// What the job says to it. Lent for the call.
struct EvidenceGiven {
  const Definition& definition;
  const evidence::Disassembler& disassemble;
  // Of one request to the device.
  absl::Duration device_deadline;
};

// How long evaluate may leave launches out of calls: `on_gpu` there; on an emulated device, whose calls take seconds,
// longer. Golden tensors: not at all, because it takes two sets of inputs.
absl::Duration LeavingOut(const evaluate::EvaluatePlan& plan, bool emulated, absl::Duration on_gpu);

// Counts one call. A worker that is lost is tried once more. The caller holds the lease.
evidence::ExecutedEvidence CountExecuted(const Chapter& chapter, const EvidenceGiven& given);

// Adds what evaluate saw without single launches, and a note for each that is dead.
void AddDroppedLaunches(const Chapter& chapter, const verdict::EvaluateSeen& seen, sassay::v1::Evidence& evidence);

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_CHAPTERS_EVIDENCE_CHAPTER_H_
