#include "agent/bench/bench.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/bench/comparison.h"
#include "agent/rollout/policy.h"
#include "common/base/proto_json.h"
#include "common/base/status_macros.h"
#include "fmt/format.h"

namespace sassay::agent {
namespace {

constexpr int kTries = 3;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Why a verdict gives no ratio; empty if it gives one.
std::string WhyNoTime(const std::string& name, const v1::Verdict& verdict) {
  if (verdict.status() != v1::VERDICT_STATUS_CORRECT)
    return absl::StrCat(name, " is ", EnumName(verdict.status()), ": ", verdict.reason());
  const v1::Timing& timing = verdict.timing();
  if (timing.candidate().median_ns() > 0) return "";
  return absl::StrCat("no time for ", name, ": ",
                      timing.reason().empty() ? "the service did not measure it" : timing.reason());
}

// The rounds of one workload.
class Shape {
 public:
  Shape(const BenchPlan& plan, const v1::Workload& workload, Judge& judge, Stopper& stopper)
      : plan_(plan), workload_(workload), judge_(judge), stopper_(stopper) {
    shape_.set_workload(workload.name());
  }

  absl::StatusOr<v1::BenchShape> Run(const std::function<void(absl::string_view)>& on_round) {
    for (uint32_t round = 0; round < plan_.rounds; ++round) {
      ASSIGN_OR_RETURN(const std::optional<double> ratio, Round(round));
      if (!ratio.has_value()) return shape_;
      shape_.add_rounds(*ratio);
      on_round(fmt::format("{}, round {} of {}: {:.4f}", workload_.name(), round + 1, plan_.rounds, *ratio));
    }
    const Interval interval = IntervalOf(Summarise(shape_.rounds()));
    shape_.set_ratio(interval.ratio);
    shape_.set_ratio_low(interval.low);
    shape_.set_ratio_high(interval.high);
    shape_.set_candidate_ns(Median(candidate_ns_));
    shape_.set_against_ns(Median(against_ns_));
    shape_.set_outcome(OutcomeOf(interval, plan_.threshold));
    return shape_;
  }

 private:
  bool WithBaseline() const { return plan_.against.empty(); }

  absl::StatusOr<std::optional<double>> Round(uint32_t round) {
    v1::Verdict ours, theirs;
    for (const bool first : {true, false}) {
      const bool is_ours = first == (round % 2 == 0);
      if (!is_ours && WithBaseline()) continue;
      ASSIGN_OR_RETURN(v1::Verdict verdict, Measure(is_ours, round));
      const std::string why = WhyNoTime(is_ours ? plan_.candidate_name : plan_.against_name, verdict);
      if (!why.empty()) return Unavailable(why, verdict);
      (is_ours ? ours : theirs) = std::move(verdict);
    }
    return RatioOf(ours, theirs);
  }

  std::optional<double> Unavailable(const std::string& why, const v1::Verdict& verdict) {
    shape_.set_outcome(v1::BENCH_OUTCOME_UNAVAILABLE);
    shape_.set_reason(why);
    *shape_.mutable_verdict() = verdict;
    return std::nullopt;
  }

  std::optional<double> RatioOf(const v1::Verdict& ours, const v1::Verdict& theirs) {
    candidate_ns_.push_back(ours.timing().candidate().median_ns());
    const double speedup = ours.timing().speedup();
    if (WithBaseline()) {
      against_ns_.push_back(ours.timing().baseline().median_ns());
      if (speedup > 0) return speedup;
      return Unavailable(absl::StrCat("no speed-up over the baseline: ", ours.timing().no_speedup_reason()), ours);
    }
    against_ns_.push_back(theirs.timing().candidate().median_ns());
    const double other = theirs.timing().speedup();
    return speedup > 0 && other > 0 ? speedup / other : against_ns_.back() / candidate_ns_.back();
  }

  absl::StatusOr<v1::Verdict> Measure(bool is_ours, uint32_t round) {
    JudgeJob job;
    job.workload = &workload_;
    job.bundle = is_ours ? plan_.candidate : plan_.against;
    for (int tried = 1;; ++tried) {
      job.request_id = absl::StrCat(plan_.id, "/", requests_++);
      ASSIGN_OR_RETURN(Judgement judgement, judge_.Run(job, {}, stopper_));
      if (IsAboutCandidate(judgement.verdict)) return std::move(judgement.verdict);
      if (tried == kTries || IsHopeless(judgement.verdict))
        return absl::UnavailableError(absl::StrCat(
            "no verdict on ", is_ours ? plan_.candidate_name : plan_.against_name, ": ", TroubleOf(judgement.verdict)));
    }
  }

  const BenchPlan& plan_;
  const v1::Workload& workload_;
  Judge& judge_;
  Stopper& stopper_;
  v1::BenchShape shape_;
  std::vector<double> candidate_ns_, against_ns_;
  uint32_t requests_ = 0;
};

// The worst of several: what there is no ratio for, then what is slower, then what is not known.
v1::BenchOutcome Overall(const v1::BenchResult& result) {
  for (const v1::BenchOutcome outcome :
       {v1::BENCH_OUTCOME_UNAVAILABLE, v1::BENCH_OUTCOME_SLOWER, v1::BENCH_OUTCOME_INCONCLUSIVE}) {
    for (const v1::BenchShape& shape : result.shapes()) {
      if (shape.outcome() == outcome) return outcome;
    }
  }
  return OutcomeOf({result.geomean(), result.geomean_low(), result.geomean_high()}, result.threshold());
}

void SetGeomean(v1::BenchResult& result) {
  std::vector<LogRatio> shapes;
  for (const v1::BenchShape& shape : result.shapes()) {
    if (shape.outcome() == v1::BENCH_OUTCOME_UNAVAILABLE) return;
    shapes.push_back(Summarise(shape.rounds()));
  }
  const Interval interval = IntervalOf(Combine(shapes));
  result.set_geomean(interval.ratio);
  result.set_geomean_low(interval.low);
  result.set_geomean_high(interval.high);
}

}  // namespace

absl::StatusOr<v1::BenchResult> RunBench(const BenchPlan& plan, Judge& judge, Stopper& stopper,
                                         const std::function<void(absl::string_view)>& on_round) {
  v1::BenchResult result;
  result.set_candidate(plan.candidate_name);
  result.set_against(plan.against_name);
  result.set_threshold(plan.threshold);
  for (size_t i = 0; i < plan.workloads.size(); ++i) {
    BenchPlan of_shape = plan;
    of_shape.id = absl::StrCat(plan.id, "/", i);
    ASSIGN_OR_RETURN(*result.add_shapes(), Shape(of_shape, plan.workloads[i], judge, stopper).Run(on_round));
  }
  SetGeomean(result);
  result.set_outcome(Overall(result));
  return result;
}

v1::BenchOutcome GuardOutcome(const v1::BenchResult& result) {
  v1::BenchOutcome outcome = v1::BENCH_OUTCOME_EQUAL;
  for (const v1::BenchShape& shape : result.shapes()) {
    if (shape.outcome() == v1::BENCH_OUTCOME_UNAVAILABLE) return v1::BENCH_OUTCOME_UNAVAILABLE;
    if (shape.outcome() == v1::BENCH_OUTCOME_SLOWER) {
      outcome = v1::BENCH_OUTCOME_SLOWER;
    } else if (outcome == v1::BENCH_OUTCOME_EQUAL && !IsNotSlower(shape.ratio_low(), result.threshold())) {
      outcome = v1::BENCH_OUTCOME_INCONCLUSIVE;
    }
  }
  return outcome;
}

}  // namespace sassay::agent
