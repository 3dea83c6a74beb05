#include "profiler_service/judge/numerics/pattern.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/optional.h"

namespace sassay::judge {
namespace {

// Two numbers agree here if they are within 2 % of the field's scale: coarse enough for bf16 and its accumulated
// errors, fine enough to tell expected from anything unrelated.
constexpr double kLikeness = 0.02;
// Share of elements that must agree before a transformation is believed.
constexpr double kBelief = 0.98;
// Fewer wrong elements than this tell nothing about ratios.
constexpr size_t kFewest = 8;
// Fewer than this tell nothing about how actual and expected go together.
constexpr size_t kFewestForRelation = 64;
// Below this correlation nothing of the expected values is left. Chance stays well below it for 64 elements and more.
constexpr double kUnrelated = 0.3;
// Nearer to "the same" than this is rounding.
constexpr double kSame = 0.95;

using Predicate = std::function<bool(size_t)>;

std::vector<std::string> AxisNames(size_t rank) {
  switch (rank) {
    case 1:
      return {"index"};
    case 2:
      return {"row", "column"};
    case 3:
      return {"batch", "head", "row"};
    case 4:
      return {"batch", "head", "row", "column"};
    default: {
      std::vector<std::string> names;
      for (size_t axis = 0; axis < rank; ++axis) names.push_back(absl::StrCat("axis ", axis));
      return names;
    }
  }
}

class Describer {
 public:
  explicit Describer(const ErrorField& field) : field_(field), names_(AxisNames(field.shape.size())) {
    for (size_t i = 0; i < field.wrong.size(); ++i) {
      if (field.wrong[i]) wrong_.push_back(i);
    }
    double squares = 0;
    for (double value : field.expected) squares += std::isfinite(value) ? value * value : 0;
    scale_ = field.expected.empty() ? 0 : std::sqrt(squares / static_cast<double>(field.expected.size()));
  }

  std::string Describe() const {
    if (wrong_.empty()) return "";
    std::vector<std::string> words;
    const std::string look = field_.unwritten ? "" : Look();
    const std::string place = Place();
    if (!look.empty()) words.push_back(look);
    if (!place.empty()) words.push_back(place);
    return absl::StrJoin(words, "; ");
  }

 private:
  // ---- what the errors look like ----

  std::string Look() const {
    for (auto attempt : {&Describer::Constant, &Describer::Transposed, &Describer::Factor, &Describer::Offset,
                         &Describer::Shifted, &Describer::Relation}) {
      const std::string words = (this->*attempt)();
      if (!words.empty()) return words;
    }
    return "";
  }

  bool Alike(double a, double b) const { return std::fabs(a - b) <= kLikeness * scale_ + 1e-30; }

  // Share of wrong elements for which `holds`.
  double Share(const Predicate& holds) const {
    size_t count = 0;
    for (size_t i : wrong_) count += holds(i);
    return static_cast<double>(count) / static_cast<double>(wrong_.size());
  }

  std::string Constant() const {
    const double first = field_.actual[wrong_.front()];
    if (wrong_.size() < kFewest) return "";
    if (Share([&](size_t i) { return std::isnan(field_.actual[i]); }) == 1) return "every wrong element is NaN";
    if (Share([&](size_t i) { return field_.actual[i] == first; }) < 1) return "";
    if (first == 0) return "every wrong element is zero";
    return absl::StrFormat("every wrong element is the constant %g", first);
  }

  // Expected value at the mirrored place of the last two axes.
  size_t Mirrored(size_t i) const {
    const size_t n = static_cast<size_t>(field_.shape.back()), tile = n * n;
    const size_t base = i / tile * tile, row = i % tile / n, column = i % n;
    return base + column * n + row;
  }

  std::string Transposed() const {
    const size_t rank = field_.shape.size();
    if (rank < 2 || field_.shape[rank - 1] != field_.shape[rank - 2] || wrong_.size() < kFewest) return "";
    const double share = Share([&](size_t i) { return Alike(field_.actual[i], field_.expected[Mirrored(i)]); });
    return share >= kBelief ? "expected and actual look transposed" : "";
  }

  // Least squares of actual on expected over the wrong elements.
  absl::optional<double> BestFactor() const {
    double dot = 0, squares = 0;
    for (size_t i : wrong_) {
      if (!std::isfinite(field_.actual[i]) || !std::isfinite(field_.expected[i])) return absl::nullopt;
      dot += field_.actual[i] * field_.expected[i];
      squares += field_.expected[i] * field_.expected[i];
    }
    if (wrong_.size() < kFewest || squares == 0) return absl::nullopt;
    return dot / squares;
  }

  std::string Factor() const {
    const absl::optional<double> factor = BestFactor();
    if (!factor.has_value() || std::fabs(*factor) < 1e-3 || std::fabs(*factor - 1) < 5e-3) return "";
    const double slack = kLikeness * scale_ * std::max(1.0, std::fabs(*factor));
    const double share =
        Share([&](size_t i) { return std::fabs(field_.actual[i] - *factor * field_.expected[i]) <= slack; });
    // A factor explains little where values of the noise's size would do as well.
    if (share < kBelief) return "";
    return absl::StrCat("actual = expected x ", Short(*factor), MeaningOfFactor(*factor));
  }

  static std::string Short(double value) {
    const double whole = std::round(value);
    if (std::fabs(value - whole) <= 0.01 * std::fabs(value) && whole != 0) return absl::StrFormat("%g", whole);
    return absl::StrFormat("%.4g", value);
  }

  std::string MeaningOfFactor(double factor) const {
    const auto is = [&](double value) { return std::fabs(factor - value) <= 0.01 * std::fabs(value); };
    if (is(-1)) return " (wrong sign)";
    if (is(1 / std::log(2.0))) return " (log2 where the natural logarithm is asked for)";
    if (is(std::log(2.0))) return " (a missing factor log2(e), or ln 2 too many)";
    for (auto axis = field_.shape.rbegin(); axis != field_.shape.rend(); ++axis) {
      const double extent = static_cast<double>(*axis);
      if (extent < 4) continue;
      if (is(std::sqrt(extent))) return absl::StrFormat(" (missing scale 1/sqrt(%d))", *axis);
      if (is(1 / std::sqrt(extent))) return absl::StrFormat(" (scale 1/sqrt(%d) applied once too often)", *axis);
      if (is(extent)) return absl::StrFormat(" (missing division by %d)", *axis);
      if (is(1 / extent)) return absl::StrFormat(" (divided by %d once too often)", *axis);
    }
    return "";
  }

  std::string Offset() const {
    double sum = 0;
    for (size_t i : wrong_) sum += field_.actual[i] - field_.expected[i];
    const double mean = sum / static_cast<double>(wrong_.size());
    if (wrong_.size() < kFewest || !std::isfinite(mean) || std::fabs(mean) <= 2 * kLikeness * scale_) return "";
    const double share = Share([&](size_t i) { return Alike(field_.actual[i], field_.expected[i] + mean); });
    return share >= kBelief ? absl::StrFormat("actual = expected %s %.4g", mean < 0 ? "-" : "+", std::fabs(mean)) : "";
  }

  std::string Shifted() const {
    if (wrong_.size() < kFewest || field_.shape.size() < 2) return "";
    const int64_t columns = field_.shape.back();
    for (const auto& [step, words] : {std::pair<int64_t, const char*>{1, "column"}, {columns, "row"}}) {
      for (int64_t sign : {1, -1}) {
        if (ShiftExplains(sign * step)) {
          return absl::StrFormat("actual is expected shifted by one %s (off by one)", words);
        }
      }
    }
    return "";
  }

  bool ShiftExplains(int64_t distance) const {
    const auto size = static_cast<int64_t>(field_.expected.size());
    size_t alike = 0, compared = 0;
    for (size_t i : wrong_) {
      const int64_t from = static_cast<int64_t>(i) + distance;
      if (from < 0 || from >= size) continue;
      ++compared;
      alike += Alike(field_.actual[i], field_.expected[from]);
    }
    // The edge that was shifted in may hold anything.
    return compared >= kFewest && static_cast<double>(alike) >= 0.9 * static_cast<double>(compared);
  }

  // How actual goes with expected where nothing simpler explains it: no relation means wrong indices, a strong one
  // means a wrong formula.
  std::string Relation() const {
    double mixed = 0, expected = 0, actual = 0;
    for (size_t i : wrong_) {
      if (!std::isfinite(field_.actual[i]) || !std::isfinite(field_.expected[i])) return "";
      mixed += field_.actual[i] * field_.expected[i];
      expected += field_.expected[i] * field_.expected[i];
      actual += field_.actual[i] * field_.actual[i];
    }
    if (wrong_.size() < kFewestForRelation || expected == 0 || actual == 0) return "";
    const double correlation = mixed / std::sqrt(expected) / std::sqrt(actual), size = std::sqrt(actual / expected);
    if (correlation > kSame && size > kSame && size < 1 / kSame) return "";
    if (std::fabs(correlation) >= kUnrelated) {
      return absl::StrFormat("actual follows expected (correlation %.2f) and is %.3g times as large", correlation,
                             size);
    }
    const bool alike = size > 0.5 && size < 2;
    return absl::StrFormat("actual has no relation to expected (correlation %.2f) and is %.3g times as large%s",
                           correlation, size,
                           alike ? ": perhaps the wrong elements were read (a transposed operand?)" : "");
  }

  // ---- where the errors are ----

  int64_t Coordinate(size_t flat, size_t axis) const {
    int64_t rest = static_cast<int64_t>(flat);
    for (size_t later = field_.shape.size() - 1; later > axis; --later) rest /= field_.shape[later];
    return rest % field_.shape[axis];
  }

  std::string Place() const {
    if (wrong_.size() == field_.wrong.size()) return "every element is wrong";
    if (wrong_.size() == 1) return "a single element is wrong";
    std::vector<std::string> conditions;
    for (size_t axis = 0; axis < field_.shape.size(); ++axis) {
      const std::string condition = AxisCondition(axis);
      if (!condition.empty()) conditions.push_back(condition);
    }
    const std::string diagonal = Diagonal();
    if (!diagonal.empty()) conditions.push_back(diagonal);
    return conditions.empty() ? "" : absl::StrCat("all errors have ", absl::StrJoin(conditions, " and "));
  }

  std::string AxisCondition(size_t axis) const {
    const int64_t extent = field_.shape[axis];
    std::vector<uint8_t> hit(extent, 0);
    for (size_t i : wrong_) hit[Coordinate(i, axis)] = 1;
    const int64_t hits = std::count(hit.begin(), hit.end(), 1);
    if (hits == extent) return "";
    const int64_t first = std::find(hit.begin(), hit.end(), 1) - hit.begin();
    const int64_t last = extent - 1 - (std::find(hit.rbegin(), hit.rend(), 1) - hit.rbegin());
    const std::string& name = names_[axis];
    if (hits > 1 && !Significant(static_cast<double>(hits) / static_cast<double>(extent))) return "";
    if (hits == 1) return absl::StrFormat("%s = %d", name, first);
    if (const std::string stride = Stride(hit, first, last, hits); !stride.empty()) {
      return absl::StrFormat("%s %s", name, stride);
    }
    const double share = static_cast<double>(last - first + 1) / static_cast<double>(extent);
    return Significant(share) ? Range(name, first, last, extent) : "";
  }

  // Whether errors scattered at random would hardly all have fallen into this share of an axis.
  bool Significant(double share) const { return std::pow(share, static_cast<double>(wrong_.size())) < 1e-3; }

  static std::string Range(const std::string& name, int64_t first, int64_t last, int64_t extent) {
    if (first == 0 && last == extent - 1) return "";
    if (last == extent - 1) return absl::StrFormat("%s >= %d", name, first);
    if (first == 0) return absl::StrFormat("%s < %d", name, last + 1);
    return absl::StrFormat("%d <= %s < %d", first, name, last + 1);
  }

  // Every k-th index, beginning below k and going on to the end.
  static std::string Stride(const std::vector<uint8_t>& hit, int64_t first, int64_t last, int64_t hits) {
    if (hits < 3 || (last - first) % (hits - 1) != 0) return "";
    const int64_t step = (last - first) / (hits - 1);
    if (step < 2 || first >= step || last + step < static_cast<int64_t>(hit.size())) return "";
    for (int64_t i = first; i <= last; i += step) {
      if (!hit[i]) return "";
    }
    return absl::StrFormat("%% %d == %d (every %dth)", step, first, step);
  }

  std::string Diagonal() const {
    const size_t rank = field_.shape.size();
    if (rank < 2 || field_.shape[rank - 1] < 4 || field_.shape[rank - 2] < 4 || wrong_.size() < kFewest) return "";
    bool above = true, below = true;
    for (size_t i : wrong_) {
      const int64_t row = Coordinate(i, rank - 2), column = Coordinate(i, rank - 1);
      above &= column > row;
      below &= column < row;
    }
    const std::string &row = names_[rank - 2], &column = names_[rank - 1];
    if (above && Significant(0.5) && !ImpliedByRange(true)) return absl::StrFormat("%s > %s", column, row);
    if (below && Significant(0.5) && !ImpliedByRange(false)) return absl::StrFormat("%s < %s", column, row);
    return "";
  }

  // Errors in one corner are above the diagonal for another reason.
  bool ImpliedByRange(bool above) const {
    const size_t rank = field_.shape.size();
    int64_t low[2] = {INT64_MAX, INT64_MAX}, high[2] = {-1, -1};
    for (size_t i : wrong_) {
      for (size_t k = 0; k < 2; ++k) {
        const int64_t at = Coordinate(i, rank - 2 + k);
        low[k] = std::min(low[k], at);
        high[k] = std::max(high[k], at);
      }
    }
    return above ? low[1] > high[0] : low[0] > high[1];
  }

  const ErrorField& field_;
  const std::vector<std::string> names_;
  std::vector<size_t> wrong_;
  double scale_ = 0;
};

}  // namespace

std::string DescribeErrors(const ErrorField& field) { return Describer(field).Describe(); }

}  // namespace sassay::judge
