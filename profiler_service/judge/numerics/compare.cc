#include "profiler_service/judge/numerics/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/workload/definition.h"
#include "profiler_service/judge/numerics/element.h"
#include "profiler_service/judge/numerics/pattern.h"

namespace sassay::judge {
namespace {

using sassay::v1::DType;
using sassay::v1::TensorSpec;

// Relative rms error below which "lower precision" is a likelier story than "wrong".
constexpr double kSmallError = 0.1;

bool PeerRuleFails(double expected, double actual) {
  const double error = std::fabs(actual - expected);
  return !(error <= kPeerTolerance || error <= kPeerTolerance * std::fabs(expected));
}

bool SameNonFinite(double expected, double actual) {
  return std::isnan(expected) ? std::isnan(actual) : expected == actual;
}

// Sums over one output.
struct Totals {
  double error_squares = 0, noise_squares = 0, reference_squares = 0;
  uint64_t finite = 0;
  double worst_badness = -1;
  int64_t worst = 0;
};

class Comparison {
 public:
  Comparison(const TensorSpec& spec, const Expected& expected, absl::string_view actual, absl::string_view poison,
             const Tolerance& tolerance)
      : spec_(spec),
        expected_(expected),
        actual_bytes_(actual),
        poison_(poison),
        tolerance_(tolerance),
        width_(DTypeBytes(spec.dtype())),
        floating_(IsFloating(spec.dtype())),
        actual_(DecodeDoubles(spec.dtype(), actual)),
        wrong_(actual_.size(), 0) {
    report_.set_output(spec.name());
    report_.set_elements(actual_.size());
  }

  Compared Run() {
    for (size_t i = 0; i < actual_.size(); ++i) Element(i);
    ReportWorst();
    return Finish();
  }

 private:
  double NoiseAt(size_t i) const {
    const double ulp = UlpAt(spec_.dtype(), expected_.values[i]);
    const double noise = expected_.noise.empty() ? 0 : expected_.noise[i];
    return std::sqrt(ulp * ulp / 12 + noise * noise);
  }

  bool StillPoison(size_t i) const {
    return poison_.size() == actual_bytes_.size() &&
           std::memcmp(poison_.data() + i * width_, actual_bytes_.data() + i * width_, width_) == 0;
  }

  // Two integers that differ may be one double.
  bool DiffersExactly(size_t i) const {
    return !expected_.exact.empty() &&
           std::memcmp(expected_.exact.data() + i * width_, actual_bytes_.data() + i * width_, width_) != 0;
  }

  // What cannot be held is the infinity that every kernel gives.
  double ExpectedAt(size_t i) const {
    const double expected = expected_.values[i];
    return floating_ && !std::isfinite(RoundTo(spec_.dtype(), expected)) ? RoundTo(spec_.dtype(), expected) : expected;
  }

  void Element(size_t i) {
    const double expected = ExpectedAt(i), actual = actual_[i];
    if (!std::isfinite(expected) || !std::isfinite(actual)) return NonFinite(i, expected, actual);
    const double error = DiffersExactly(i) ? std::max(1.0, std::fabs(actual - expected)) : std::fabs(actual - expected);
    const double noise = NoiseAt(i);
    const double badness = noise > 0 ? error / noise : (error > 0 ? HUGE_VAL : 0);
    totals_.error_squares += error * error;
    totals_.noise_squares += noise * noise;
    totals_.reference_squares += expected * expected;
    ++totals_.finite;
    report_.set_max_abs_error(std::max(report_.max_abs_error(), error));
    Consider(i, badness, error);
    if (badness > tolerance_.element_multiple) MarkWrong(i);
    if (PeerRuleFails(expected, actual)) report_.set_peer_rule_wrong(report_.peer_rule_wrong() + 1);
  }

  void NonFinite(size_t i, double expected, double actual) {
    if (SameNonFinite(expected, actual)) return;
    Consider(i, HUGE_VAL, HUGE_VAL);
    MarkWrong(i);
    if (std::isfinite(expected)) report_.set_non_finite(report_.non_finite() + 1);
    report_.set_peer_rule_wrong(report_.peer_rule_wrong() + 1);
  }

  // Among equally infinite badness (integers, non-finite values) the larger error wins, then the first element.
  void Consider(size_t i, double badness, double error) {
    const bool worse = badness > totals_.worst_badness || (badness == totals_.worst_badness && error > worst_error_);
    if (!worse) return;
    totals_.worst_badness = badness;
    totals_.worst = static_cast<int64_t>(i);
    worst_error_ = error;
  }

  void MarkWrong(size_t i) {
    wrong_[i] = 1;
    report_.set_wrong(report_.wrong() + 1);
    if (StillPoison(i)) report_.set_unwritten(report_.unwritten() + 1);
  }

  void ReportWorst() {
    if (actual_.empty()) return;
    for (int64_t coordinate : IndexOf(spec_, totals_.worst)) report_.add_worst_index(coordinate);
    report_.set_worst_expected(expected_.values[totals_.worst]);
    report_.set_worst_actual(actual_[totals_.worst]);
  }

  Compared Finish() {
    const double reference = std::sqrt(totals_.reference_squares);
    const double error = std::sqrt(totals_.error_squares), noise = std::sqrt(totals_.noise_squares);
    const double scale = reference > 0 ? reference : 1;
    report_.set_relative_rms_error(error / scale);
    report_.set_allowed_relative_rms_error(tolerance_.rms_multiple * noise / scale);
    const bool rms_passed = error <= tolerance_.rms_multiple * noise;
    const bool passed = rms_passed && report_.wrong() == 0;
    if (!passed) report_.set_pattern(Pattern(noise > 0 ? error / noise : 0));
    return {report_, passed, report_.peer_rule_wrong() == 0};
  }

  std::string Pattern(double ratio) const {
    const std::vector<int64_t> shape(spec_.shape().begin(), spec_.shape().end());
    const std::string words = DescribeErrors({shape, expected_.values, actual_, wrong_,
                                              report_.unwritten() > 0 && 2 * report_.unwritten() >= report_.wrong()});
    const bool small = ratio > 0 && report_.relative_rms_error() < kSmallError;
    if (!words.empty() || !small) return words;
    return absl::StrFormat(
        "errors are small but everywhere, %.1f times what rounding costs: some step works in lower precision "
        "(accumulate "
        "in f32)",
        ratio);
  }

  const TensorSpec& spec_;
  const Expected& expected_;
  const absl::string_view actual_bytes_, poison_;
  const Tolerance tolerance_;
  const size_t width_;
  const bool floating_;
  const std::vector<double> actual_;
  std::vector<uint8_t> wrong_;
  Totals totals_;
  double worst_error_ = -1;
  sassay::v1::OutputComparison report_;
};

}  // namespace

std::vector<int64_t> IndexOf(const TensorSpec& spec, int64_t flat) {
  std::vector<int64_t> index(spec.shape_size());
  for (int axis = spec.shape_size() - 1; axis >= 0; --axis) {
    index[axis] = flat % spec.shape(axis);
    flat /= spec.shape(axis);
  }
  return index;
}

Compared CompareOutput(const TensorSpec& spec, const Expected& expected, absl::string_view actual,
                       absl::string_view poison, const Tolerance& tolerance) {
  return Comparison(spec, expected, actual, poison, tolerance).Run();
}

}  // namespace sassay::judge
