#include "profiler_service/judge/numerics/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
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
        wrong_(actual_.size(), 0) {}

  Compared Run() {
    for (size_t i = 0; i < actual_.size(); ++i) Element(i);
    if (!actual_.empty()) {
      totals_.worst_expected = expected_.values[totals_.worst];
      totals_.worst_actual = actual_[totals_.worst];
    }
    return Conclude(spec_, totals_, tolerance_, [this](bool unwritten) {
      const std::vector<int64_t> shape(spec_.shape().begin(), spec_.shape().end());
      return DescribeErrors({shape, expected_.values, actual_, wrong_, unwritten});
    });
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
    totals_.max_abs_error = std::max(totals_.max_abs_error, error);
    totals_.max_relative_error =
        std::max(totals_.max_relative_error, error / (std::fabs(expected) + kRelativeErrorFloor));
    Consider(i, badness, error);
    if (badness > tolerance_.element_multiple) MarkWrong(i);
    totals_.peer_rule_wrong += PeerRuleFails(expected, actual);
  }

  void NonFinite(size_t i, double expected, double actual) {
    if (SameNonFinite(expected, actual)) return;
    Consider(i, HUGE_VAL, HUGE_VAL);
    MarkWrong(i);
    totals_.non_finite += std::isfinite(expected);
    ++totals_.peer_rule_wrong;
  }

  // Among equally infinite badness (integers, non-finite values) the larger error wins, then the first element.
  void Consider(size_t i, double badness, double error) {
    const bool worse = badness > worst_badness_ || (badness == worst_badness_ && error > worst_error_);
    if (!worse) return;
    worst_badness_ = badness;
    totals_.worst = static_cast<int64_t>(i);
    worst_error_ = error;
  }

  void MarkWrong(size_t i) {
    wrong_[i] = 1;
    ++totals_.wrong;
    totals_.unwritten += StillPoison(i);
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
  double worst_badness_ = -1, worst_error_ = -1;
};

sassay::v1::OutputComparison ReportOf(const TensorSpec& spec, const Totals& totals) {
  sassay::v1::OutputComparison report;
  report.set_output(spec.name());
  report.set_elements(ElementCount(spec));
  report.set_wrong(totals.wrong);
  report.set_non_finite(totals.non_finite);
  report.set_unwritten(totals.unwritten);
  report.set_peer_rule_wrong(totals.peer_rule_wrong);
  report.set_max_abs_error(totals.max_abs_error);
  report.set_max_relative_error(totals.max_relative_error);
  if (report.elements() == 0) return report;
  for (int64_t coordinate : IndexOf(spec, totals.worst)) report.add_worst_index(coordinate);
  report.set_worst_expected(totals.worst_expected);
  report.set_worst_actual(totals.worst_actual);
  return report;
}

// Where no pattern stands out, the size of small errors says something.
std::string LowPrecision(double ratio, double relative_error) {
  if (!(ratio > 0) || relative_error >= kSmallError) return "";
  return absl::StrFormat(
      "errors are small but everywhere, %.1f times what rounding costs: some step works in lower precision "
      "(accumulate "
      "in f32)",
      ratio);
}

}  // namespace

Tolerance ToleranceOf(const Definition& definition, const std::string& output) {
  Tolerance tolerance;
  const auto found = definition.tolerance.find(output);
  if (found == definition.tolerance.end()) return tolerance;
  tolerance.rms_multiple = found->second.rms_multiple.value_or(kRmsMultiple);
  tolerance.element_multiple = found->second.element_multiple.value_or(kElementMultiple);
  return tolerance;
}

Tolerance Scaled(const Tolerance& tolerance, double library_error_ratio) {
  const double scale = std::clamp(library_error_ratio, 1.0, kMostLibraryNoise);
  return {tolerance.rms_multiple * scale, tolerance.element_multiple * scale};
}

double NoiseOfRms(const Definition& definition, const std::string& output) {
  const auto found = definition.tolerance.find(output);
  return found == definition.tolerance.end() ? 0 : found->second.noise_of_rms;
}

sassay::v1::Finding ModifiedInput(const TensorSpec& spec, uint64_t changed_bytes, uint64_t first_byte) {
  const auto element = static_cast<int64_t>(first_byte / DTypeBytes(spec.dtype()));
  sassay::v1::Finding finding;
  finding.set_code(sassay::v1::VERDICT_CODE_INPUT_MODIFIED);
  finding.set_buffer(spec.name());
  finding.set_count(changed_bytes);
  finding.set_message(absl::StrCat("input ", spec.name(), " was written: ", changed_bytes,
                                   " bytes differ, the first in ", spec.name(), "[",
                                   absl::StrJoin(IndexOf(spec, element), ","), "]; inputs must be left as they are"));
  return finding;
}

int64_t RowLength(const TensorSpec& spec) {
  return spec.shape().empty() ? 1 : std::max<int64_t>(1, spec.shape(spec.shape_size() - 1));
}

std::vector<int64_t> IndexOf(const TensorSpec& spec, int64_t flat) {
  std::vector<int64_t> index(spec.shape_size());
  for (int axis = spec.shape_size() - 1; axis >= 0; --axis) {
    index[axis] = flat % spec.shape(axis);
    flat /= spec.shape(axis);
  }
  return index;
}

Compared Conclude(const TensorSpec& spec, const Totals& totals, const Tolerance& tolerance,
                  const std::function<std::string(bool unwritten)>& describe) {
  sassay::v1::OutputComparison report = ReportOf(spec, totals);
  const double reference = std::sqrt(totals.reference_squares), scale = reference > 0 ? reference : 1;
  const double error = std::sqrt(totals.error_squares), noise = std::sqrt(totals.noise_squares);
  report.set_relative_rms_error(error / scale);
  report.set_allowed_relative_rms_error(tolerance.rms_multiple * noise / scale);
  const bool passed = error <= tolerance.rms_multiple * noise && totals.wrong == 0;
  if (!passed) {
    report.set_pattern(describe(totals.unwritten > 0 && 2 * totals.unwritten >= totals.wrong));
    if (report.pattern().empty()) {
      report.set_pattern(LowPrecision(noise > 0 ? error / noise : 0, report.relative_rms_error()));
    }
  }
  return {report, passed, totals.peer_rule_wrong == 0};
}

Compared CompareOutput(const TensorSpec& spec, const Expected& expected, absl::string_view actual,
                       absl::string_view poison, const Tolerance& tolerance) {
  return Comparison(spec, expected, actual, poison, tolerance).Run();
}

}  // namespace sassay::judge
