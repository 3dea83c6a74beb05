#include "profiler_service/timing/report.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "profiler_service/timing/roofline.h"
#include "profiler_service/timing/timing.h"

namespace sassay::timing {
namespace {

using sassay::v1::Timing;

constexpr uint64_t kPowerCap = 0x4;

double KnownOr0(double ns) { return std::isfinite(ns) ? ns : 0; }

sassay::v1::WallTimes Wall(const WallRecord& record) {
  sassay::v1::WallTimes times;
  times.set_rest_ns(KnownOr0(record.rest_ns()));
  times.set_warm_call_ns(KnownOr0(record.warm_call_ns()));
  times.set_enqueue_ns(KnownOr0(record.enqueue_ns()));
  return times;
}

class Reporter {
 public:
  Reporter(const Conducted& conducted, const Circumstances& circumstances)
      : conducted_(conducted), around_(circumstances), measured_(conducted.measurement) {}

  verdict::TimingSeen Report() {
    Conditions();
    std::string why = WhyNoTime();
    if (!why.empty()) {
      timing_.set_status(Timing::UNAVAILABLE);
      timing_.set_reason(std::move(why));
      return {timing_, {}};
    }
    Numbers();
    Warnings();
    timing_.set_status(Timing::MEASURED);
    return Physics();
  }

 private:
  void Conditions() {
    timing_.set_sm_clock_min_mhz(conducted_.sm_clock_min_mhz);
    timing_.set_sm_clock_max_mhz(conducted_.sm_clock_max_mhz);
    timing_.set_clock_event_reasons(conducted_.clock_event_reasons);
    timing_.set_candidate_clock_mhz(measured_.clock_mhz(Side::kCandidate));
    timing_.set_baseline_clock_mhz(measured_.clock_mhz(Side::kBaseline));
    timing_.set_blocks(static_cast<uint32_t>(measured_.blocks()));
    timing_.set_void_blocks(static_cast<uint32_t>(measured_.void_blocks()));
    timing_.set_void_measurements(static_cast<uint32_t>(conducted_.void_measurements));
    for (const auto& [reason, samples] : measured_.voided_samples()) {
      (*timing_.mutable_voided_samples())[reason] = static_cast<uint32_t>(samples);
    }
    timing_.set_checked_calls(around_.checked_calls);
    timing_.set_tensor_sets(around_.tensor_sets);
    timing_.set_renewed_sets(around_.renewed_sets);
    timing_.set_hoisted_allocations(around_.hoisted_allocations);
    timing_.set_no_speedup_reason(around_.no_baseline_reason);
    *timing_.mutable_candidate_wall() = Wall(conducted_.candidate_wall);
    if (around_.baseline.has_value()) {
      *timing_.mutable_baseline_program() = *around_.baseline;
      *timing_.mutable_baseline_wall() = Wall(conducted_.baseline_wall);
    }
    if (around_.baseline_history.has_value()) *timing_.mutable_baseline_history() = *around_.baseline_history;
    if (around_.floor.has_value()) *timing_.mutable_floor() = *around_.floor;
    timing_.set_method(absl::StrCat(
        "events; cold L2; ",
        around_.baseline.has_value() ? "blocks of candidate and baseline in the order A-B-B-A" : "candidate alone",
        "; ", conducted_.size.kept, " samples a block after ", conducted_.size.dropped, " dropped",
        around_.held ? "; launches begin together" : "; launches as the host enqueues them"));
  }

  std::string WhyNoTime() const {
    if (conducted_.stop == Stop::kVoid) {
      std::vector<std::string> reasons;
      for (const auto& [reason, samples] : measured_.voided_samples()) reasons.push_back(reason);
      return absl::StrFormat("%d measurements were void, the last one with %d of %d blocks: %s",
                             conducted_.void_measurements + 1, measured_.void_blocks(), measured_.blocks(),
                             absl::StrJoin(reasons, "; "));
    }
    const size_t samples = measured_.samples(Side::kCandidate).size();
    if (samples < static_cast<size_t>(kFewestSamples)) {
      return absl::StrCat("expected at least ", kFewestSamples, " samples, got ", samples, " before the deadline");
    }
    if (!conducted_.implausible.empty()) {
      return absl::StrCat("the times cannot be believed: ", conducted_.implausible);
    }
    if (around_.checked_calls == 0) {
      return absl::StrCat("no output of a timed call could be checked: ", around_.unchecked_reason);
    }
    return "";
  }

  static void Fill(const std::vector<double>& samples, sassay::v1::TimingSeries& series) {
    series.mutable_samples_ns()->Assign(samples.begin(), samples.end());
    Summarise(series);
  }

  void Numbers() {
    Fill(measured_.samples(Side::kCandidate), *timing_.mutable_candidate());
    const RatioEstimate estimate = measured_.estimate();
    if (std::isfinite(estimate.standard_error)) timing_.set_relative_standard_error(estimate.standard_error);
    if (!around_.baseline.has_value()) return;
    Fill(measured_.samples(Side::kBaseline), *timing_.mutable_baseline());
    timing_.set_speedup(estimate.ratio);
    timing_.set_speedup_low(estimate.low);
    if (std::isfinite(estimate.high)) timing_.set_speedup_high(estimate.high);
  }

  void Warn(std::string line) { *timing_.add_warnings() = std::move(line); }

  void Warnings() {
    if (conducted_.stop == Stop::kTimeCap) {
      const double reach = 100 * measured_.estimate().half_width();
      Warn(std::isfinite(reach) ? absl::StrFormat("ended by its time limit; the interval is ± %.2g %%", reach)
                                : std::string("ended by its time limit, without an interval"));
    }
    const double candidate = timing_.candidate_clock_mhz(), baseline = timing_.baseline_clock_mhz();
    if (candidate > 0 && baseline > 0 && std::abs(candidate / baseline - 1) > kClockAsymmetry) {
      Warn(absl::StrFormat("the candidate ran at %.0f MHz, the baseline at %.0f MHz", candidate, baseline));
    }
    if ((conducted_.clock_event_reasons & kPowerCap) != 0) Warn("the power cap lowered the clock");
    if (!conducted_.counted_reasons)
      Warn("this driver does not count clock slowdowns: short ones may have been missed");
    if (!around_.unchecked_reason.empty()) Warn("timed outputs were not checked: " + around_.unchecked_reason);
  }

  // The lower end of the median's interval may lie below by chance; the upper end does not.
  verdict::TimingSeen Physics() {
    verdict::TimingSeen seen{timing_, {}};
    if (!around_.floor.has_value()) return seen;
    const std::string line = FasterThanPhysics(timing_.candidate().median_high_ns(), *around_.floor);
    if (line.empty()) return seen;
    seen.timing.set_status(Timing::UNAVAILABLE);
    seen.timing.set_reason(line);
    seen.failure = verdict::Failure{sassay::v1::VERDICT_CODE_FASTER_THAN_PHYSICS, line, {}, {}};
    return seen;
  }

  const Conducted& conducted_;
  const Circumstances& around_;
  const Measurement& measured_;
  Timing timing_;
};

}  // namespace

Timing Unavailable(std::string reason) {
  Timing timing;
  timing.set_status(Timing::UNAVAILABLE);
  timing.set_reason(std::move(reason));
  return timing;
}

verdict::TimingSeen Report(const Conducted& conducted, const Circumstances& circumstances) {
  return Reporter(conducted, circumstances).Report();
}

}  // namespace sassay::timing
