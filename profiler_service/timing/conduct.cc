#include "profiler_service/timing/conduct.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/status_macros.h"

namespace sassay::timing {
namespace {

// A pause after which a program is warmed up again before it gives samples.
constexpr absl::Duration kPause = absl::Milliseconds(20);
// One stretch of such calls is warm-up enough.
constexpr absl::Duration kSlowCall = absl::Milliseconds(100);
constexpr int kFewestWarmUpCalls = 9, kMostWarmUpCalls = 4000;
constexpr double kLongestCallNs = 1e13;

bool AreTimes(const std::vector<double>& samples) {
  return std::all_of(samples.begin(), samples.end(),
                     [](double ns) { return std::isfinite(ns) && ns > 0 && ns < kLongestCallNs; });
}

class Conductor {
 public:
  explicit Conductor(const Ensemble& ensemble)
      : with_(ensemble), result_(ensemble.rules, ensemble.baseline != nullptr) {}

  absl::StatusOr<Conducted> Run() {
    RETURN_IF_ERROR(WarmBoth());
    start_ = with_.now();
    ASSIGN_OR_RETURN(clock_, Clock());
    do {
      RETURN_IF_ERROR(Round());
      result_.stop = result_.measurement.Decide(with_.now() - start_);
      RETURN_IF_ERROR(with_.interludes->Check(result_.stop != Stop::kGoOn));
    } while (result_.stop == Stop::kGoOn);
    result_.took = with_.now() - start_;
    Reconcile();
    return std::move(result_);
  }

 private:
  TimedProgram& program(Side side) const { return side == Side::kCandidate ? *with_.candidate : *with_.baseline; }
  WallRecord& wall(Side side) { return side == Side::kCandidate ? result_.candidate_wall : result_.baseline_wall; }

  absl::Status WarmBoth() {
    RETURN_IF_ERROR(with_.interludes->Refresh());
    RETURN_IF_ERROR(Steady(Side::kCandidate));
    if (with_.baseline != nullptr) RETURN_IF_ERROR(Steady(Side::kBaseline));
    const double call_ns = std::max(result_.candidate_wall.warm_call_ns(),
                                    with_.baseline != nullptr ? result_.baseline_wall.warm_call_ns() : 0);
    result_.size = SizeFor(with_.rules, absl::Nanoseconds(call_ns), with_.interludes->ring());
    return absl::OkStatus();
  }

  // Until two stretches in a row run at one clock. How many calls the first one made is the program's word; the later
  // ones are of a number that it is told, so that what they took bounds its speed from outside.
  absl::Status Steady(Side side) {
    ASSIGN_OR_RETURN(WarmUpReport latest, WarmUp(side, kWarmUpCalls, kWarmUpTime));
    const absl::Duration call = (idle_since_ - warm_up_began_) / std::max(latest.calls, 1);
    if (call > kSlowCall) {
      wall(side).AddWarmUp(latest.calls, idle_since_ - warm_up_began_);
      return absl::OkStatus();
    }
    const double fit = absl::FDivDuration(kWarmUpTime, std::max(call, absl::Nanoseconds(1)));
    const int calls = static_cast<int>(std::clamp<double>(fit, kFewestWarmUpCalls, kMostWarmUpCalls));
    for (int i = 1; i < kMostWarmUps; ++i) {
      ASSIGN_OR_RETURN(const WarmUpReport next, WarmUp(side, calls, absl::ZeroDuration()));
      wall(side).AddWarmUp(calls, idle_since_ - warm_up_began_);
      if (next.clock_mhz <= 0 || std::abs(next.clock_mhz / latest.clock_mhz - 1) < kSteadyClock) break;
      latest = next;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<WarmUpReport> WarmUp(Side side, int calls, absl::Duration at_least) {
    warm_up_began_ = with_.now();
    ASSIGN_OR_RETURN(const WarmUpReport report, program(side).WarmUp(calls, at_least, kLongestWarmUp));
    idle_since_ = with_.now();
    if (report.enqueue_ns > 0) wall(side).AddEnqueue(report.enqueue_ns);
    return report;
  }

  // Warm before the inputs are there: a call that is not timed could do what the timed ones should.
  absl::Status Round() {
    const std::vector<Side> sides = result_.measurement.NextRound();
    if (const absl::Duration pause = with_.now() - idle_since_; pause > kPause) {
      RETURN_IF_ERROR(WarmUp(sides.front(), 1, std::min(pause, kWarmUpTime)).status());
    }
    RETURN_IF_ERROR(with_.interludes->Refresh());
    std::vector<Block> round;
    for (const Side side : sides) {
      ASSIGN_OR_RETURN(Block block, RunBlock(side));
      round.push_back(std::move(block));
    }
    result_.measurement.Add(std::move(round));
    return absl::OkStatus();
  }

  absl::StatusOr<Block> RunBlock(Side side) {
    const absl::Time begin = with_.now();
    ASSIGN_OR_RETURN(BlockReport report, program(side).RunBlock(result_.size));
    idle_since_ = with_.now();
    const ClockReading before = clock_;
    ASSIGN_OR_RETURN(clock_, Clock());
    Block block;
    block.side = side;
    block.clock_mhz = report.clock_mhz;
    block.void_reason = WhyVoid(side, report, idle_since_ - begin, ReasonsBetween(before, clock_));
    const size_t dropped = std::min(report.samples_ns.size(), static_cast<size_t>(result_.size.dropped));
    block.mean_ns = std::accumulate(report.samples_ns.begin(), report.samples_ns.end(), 0.0) /
                    std::max<double>(static_cast<double>(report.samples_ns.size()), 1);
    block.samples_ns.assign(report.samples_ns.begin() + static_cast<std::ptrdiff_t>(dropped), report.samples_ns.end());
    return block;
  }

  std::string WhyVoid(Side side, const BlockReport& report, absl::Duration took, uint64_t reasons) {
    const int wanted = result_.size.dropped + result_.size.kept;
    if (!report.trouble.empty()) return report.trouble;
    if (static_cast<int>(report.samples_ns.size()) != wanted) return "samples are missing";
    if (!AreTimes(report.samples_ns)) return "samples are no times";
    const double sum_ns = std::accumulate(report.samples_ns.begin(), report.samples_ns.end(), 0.0);
    if (std::string impossible = WallRecord::Impossible(sum_ns, took); !impossible.empty()) return impossible;
    wall(side).AddBlock(wanted, sum_ns, took);
    return (reasons & kVoidClockReasons) != 0 ? "clock slowdown" : "";
  }

  absl::StatusOr<ClockReading> Clock() {
    absl::StatusOr<ClockReading> reading = with_.clock();
    if (!reading.ok()) {
      return absl::UnavailableError(absl::StrCat("clocks are not known: ", reading.status().message()));
    }
    uint32_t& lowest = result_.sm_clock_min_mhz;
    lowest = lowest == 0 ? reading->sm_clock_mhz : std::min(lowest, reading->sm_clock_mhz);
    result_.sm_clock_max_mhz = std::max(result_.sm_clock_max_mhz, reading->sm_clock_mhz);
    result_.clock_event_reasons |= ReasonsBetween(started_clock_ ? clock_ : *reading, *reading);
    result_.counted_reasons =
        result_.counted_reasons &&
        reading->reason_ns.count(0x20) + reading->reason_ns.count(0x40) + reading->reason_ns.count(0x80) == 3;
    started_clock_ = true;
    return reading;
  }

  void Reconcile() {
    const std::vector<double>& samples = result_.measurement.samples(Side::kCandidate);
    if (samples.empty()) return;
    result_.implausible = result_.candidate_wall.Implausible(
        Median(samples), with_.baseline != nullptr ? &result_.baseline_wall : nullptr, with_.around);
    if (result_.implausible.empty()) result_.implausible = Uneven();
    if (result_.implausible.empty()) result_.implausible = DoubtBaseline();
  }

  std::string DoubtBaseline() const {
    const std::vector<double>& samples = result_.measurement.samples(Side::kBaseline);
    if (with_.doubt_baseline == nullptr || samples.empty()) return "";
    return with_.doubt_baseline(Median(samples), result_.measurement.clock_mhz(Side::kBaseline));
  }

  std::string Uneven() const {
    const double uneven = result_.measurement.unevenness(Side::kCandidate);
    const double usual = std::max(result_.measurement.unevenness(Side::kBaseline), 1.0);
    if (uneven <= kMostUneven * usual) return "";
    return absl::StrFormat(
        "a few calls took the time of many: all calls of a block took %.2f times its median on average (the baseline's "
        "%.2f)",
        uneven, usual);
  }

  const Ensemble& with_;
  Conducted result_;
  ClockReading clock_;
  bool started_clock_ = false;
  absl::Time start_, idle_since_, warm_up_began_;
};

}  // namespace

absl::StatusOr<Conducted> Conduct(const Ensemble& ensemble) {
  for (int attempt = 0;; ++attempt) {
    ASSIGN_OR_RETURN(Conducted conducted, Conductor(ensemble).Run());
    conducted.void_measurements = attempt;
    const bool stands = conducted.stop != Stop::kVoid && conducted.implausible.empty();
    if (stands || attempt + 1 == kMeasurements) return conducted;
  }
}

}  // namespace sassay::timing
