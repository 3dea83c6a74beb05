#include "profiler_service/pipeline/chapters/evidence_chapter.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/demangle/demangle.h"
#include "profiler_service/evaluate/judge_case.h"

namespace sassay::pipeline {
namespace {

constexpr absl::Duration kEmulatedLeavingOut = absl::Seconds(10);

}  // namespace

absl::Duration LeavingOut(const evaluate::EvaluatePlan& plan, bool emulated, absl::Duration on_gpu) {
  if (plan.distributions.size() < 2) return absl::ZeroDuration();
  return emulated ? kEmulatedLeavingOut : on_gpu;
}

evidence::ExecutedEvidence CountExecuted(const Chapter& chapter, const EvidenceGiven& given) {
  const auto workers = chapter.lane.MakeWorkers(chapter.kill_switch);
  const evaluate::StageContext context{chapter.bundle,           *workers, chapter.deadline, given.device_deadline,
                                       !chapter.lane.emulated(), nullptr};
  const auto family = given.definition.required_sass.find(chapter.lane.device().arch());
  const std::string letter = family == given.definition.required_sass.end() ? "" : family->second;
  const evidence::EvidenceRequest request{chapter.lane.device(), letter, given.disassemble, chapter.distribution};
  evidence::ExecutedEvidence result = evidence::CollectEvidence(context, chapter.seeds, request);
  if (!result.failure().has_value() || !evaluate::IsLostWorker(*result.failure()) || !chapter.goes()) return result;
  chapter.notes.push_back(absl::StrCat("evidence began again: ", result.failure()->reason));
  return evidence::CollectEvidence(context, chapter.seeds, request);
}

void AddDroppedLaunches(const Chapter& chapter, const verdict::EvaluateSeen& seen, sassay::v1::Evidence& evidence) {
  if (!seen.dropped_launches.has_value()) return;
  *evidence.mutable_dropped_launches() = *seen.dropped_launches;
  for (const sassay::v1::DeadLaunch& dead : seen.dropped_launches->dead()) {
    chapter.notes.push_back(absl::StrCat("evidence: launch ", dead.launch(), " (", ShortKernelName(dead.kernel()),
                                         ") is dead: without it the outputs were right, too"));
  }
}

}  // namespace sassay::pipeline
