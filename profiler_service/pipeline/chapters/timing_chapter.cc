#include "profiler_service/pipeline/chapters/timing_chapter.h"

#include <algorithm>
#include <memory>
#include <string>

#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "profiler_service/evaluate/reference_session.h"
#include "profiler_service/pipeline/cases.h"
#include "profiler_service/pipeline/memory_need.h"
#include "profiler_service/timing/judged_sets.h"
#include "profiler_service/timing/timing.h"
#include "profiler_service/wire/runner_client.h"

namespace sassay::pipeline {
namespace {

// Rings for candidate and baseline. The distribution is that of evaluate's first case, whose answer is known already
// where no other can be.
timing::JudgedSets::Options SetsToTime(const Chapter& chapter, const BaselineSources& baselines,
                                       const timing::Rules& rules) {
  timing::JudgedSets::Options options;
  const bool bundle = baselines.itself || !BaselineDigest(baselines.definition, baselines.workload).empty();
  options.sets = RingSize(rules, chapter.bundle, bundle, chapter.lane.device().memory_bytes());
  options.distribution = chapter.distribution;
  options.any_seed = baselines.definition.reference_kind != ReferenceKind::kGolden;
  options.now = [] { return SteadyNow(); };
  return options;
}

timing::TimingRequest RequestFor(const Chapter& chapter, const TimingGiven& given) {
  timing::TimingRequest request;
  request.rules.budget = given.budget;
  request.device = chapter.lane.specification();
  request.gpu = {chapter.lane.device().model(), chapter.lane.device().multiprocessors()};
  request.workload = given.baselines.workload;
  request.poison_seed = chapter.seeds.Get("poison timing", 0);
  request.baseline_seed = chapter.seeds.Get("baseline", 0);
  request.distribution = chapter.distribution;
  request.longest_call = given.evaluated;
  request.baseline_history = &given.baseline_history;
  request.driver_version = chapter.lane.device().driver_version();
  request.kill_switch = &chapter.kill_switch;
  return request;
}

}  // namespace

absl::StatusOr<verdict::TimingSeen> TimeAgainstBaseline(const Chapter& chapter, const TimingGiven& given) {
  // A spare that is under way comes up while the tensors are made.
  const auto no_refill = chapter.lane.HoldRefill();
  const auto workers = chapter.lane.MakeWorkers(chapter.kill_switch);
  timing::TimingRequest request = RequestFor(chapter, given);
  const timing::JudgedSets::Options ring = SetsToTime(chapter, given.baselines, request.rules);
  const evaluate::StageContext context{chapter.bundle,           *workers,
                                       chapter.deadline,         given.device_deadline,
                                       !chapter.lane.emulated(), given.baselines.reference};
  timing::JudgedSets::Options judged = ring;
  if (context.reference != nullptr) {
    judged.reference = [&] { return std::make_unique<evaluate::ReferenceSession>(context, chapter.seeds); };
  }
  timing::JudgedSets sets(chapter.bundle, workers->judge(), chapter.deadline, chapter.seeds, judged);
  if (absl::Status prepared = sets.Prepare(); !prepared.ok()) {
    return sets.failure().has_value() ? StatusOf(*sets.failure()) : prepared;
  }
  ASSIGN_OR_RETURN(const sassay::v1::Bundle bundle,
                   wire::WithOnlyPlan(chapter.bundle.bundle(), given.baselines.workload.name()));
  // Its inputs are from other seeds than the candidate's.
  const auto baseline = BaselineBundle::Prepare(chapter, given.baselines, workers->judge(), given.seeds.Fresh(), ring);
  if (absl::IsUnavailable(baseline.status()) || absl::IsCancelled(baseline.status())) return baseline.status();
  if (!baseline.ok()) request.no_baseline = std::string(baseline.status().message());
  if (baseline.ok() && *baseline != nullptr) request.bundle_baseline = &(*baseline)->baseline();
  if (given.baselines.itself) request.rules = timing::AnchorRules();
  request.bundle = &bundle;
  request.sets = &sets;
  request.judge = &workers->judge();
  request.deadline = std::clamp(chapter.deadline - SteadyNow(), absl::Milliseconds(1), absl::Seconds(60));
  return chapter.lane.Time(request);
}

}  // namespace sassay::pipeline
