#include "profiler_service/judge/numerics/pattern.h"

#include <algorithm>
#include <cmath>

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

// Coordinates of an element from the last axis to the first.
template <typename Visit>
void ForCoordinates(const std::vector<int64_t>& shape, size_t flat, Visit visit) {
  auto rest = static_cast<int64_t>(flat);
  for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) visit(axis, rest % shape[axis]);
}

// ---- facts, on the CPU ----

void NotePlace(size_t flat, ErrorFacts& facts) {
  const size_t rank = facts.shape.size();
  int64_t row = 0, column = 0;
  ForCoordinates(facts.shape, flat, [&](size_t axis, int64_t coordinate) {
    facts.hits[axis][coordinate] = 1;
    if (axis + 1 == rank) column = coordinate;
    if (axis + 2 == rank) row = coordinate;
  });
  facts.above += column > row;
  facts.below += column < row;
  facts.low_row = std::min(facts.low_row, row);
  facts.high_row = std::max(facts.high_row, row);
  facts.low_column = std::min(facts.low_column, column);
  facts.high_column = std::max(facts.high_column, column);
}

void NoteValues(double actual, double expected, ErrorFacts& facts) {
  if (facts.wrong == 0) facts.first_actual = actual;
  ++facts.wrong;
  facts.nan += std::isnan(actual);
  facts.not_finite += !std::isfinite(actual) || !std::isfinite(expected);
  facts.product += actual * expected;
  facts.expected_squares += expected * expected;
  facts.actual_squares += actual * actual;
  facts.difference += actual - expected;
}

ErrorFacts FactsOf(const ErrorField& field) {
  ErrorFacts facts;
  facts.shape = field.shape;
  facts.unwritten = field.unwritten;
  for (int64_t extent : field.shape) facts.hits.emplace_back(extent, 0);
  for (size_t i = 0; i < field.expected.size(); ++i) {
    const double expected = field.expected[i];
    if (std::isfinite(expected)) facts.reference_squares += expected * expected;
    if (!field.wrong[i]) continue;
    NoteValues(field.actual[i], expected, facts);
    NotePlace(i, facts);
  }
  return facts;
}

// Expected value at the mirrored place of the last two axes.
size_t Mirrored(size_t i, size_t n) {
  const size_t tile = n * n, base = i / tile * tile, row = i % tile / n, column = i % n;
  return base + column * n + row;
}

void Try(const ErrorField& field, const Explanations& tried, size_t i, Fits& fits) {
  const double actual = field.actual[i], expected = field.expected[i];
  const auto alike = [&](double value) { return std::fabs(actual - value) <= tried.likeness; };
  fits.constant += actual == tried.constant;
  if (tried.factor.has_value()) fits.factor += std::fabs(actual - *tried.factor * expected) <= tried.factor_slack;
  fits.offset += alike(expected + tried.offset);
  if (tried.square) fits.mirrored += alike(field.expected[Mirrored(i, static_cast<size_t>(field.shape.back()))]);
  const auto distances = NeighbourDistances(field.shape);
  for (size_t neighbour = 0; neighbour < kNeighbours; ++neighbour) {
    const int64_t from = static_cast<int64_t>(i) + distances[neighbour];
    if (from < 0 || from >= static_cast<int64_t>(field.expected.size())) continue;
    ++fits.shiftable[neighbour];
    fits.shifted[neighbour] += alike(field.expected[from]);
  }
}

// Least squares of actual on expected over the wrong elements.
absl::optional<double> BestFactor(const ErrorFacts& facts) {
  if (facts.not_finite > 0 || facts.wrong < kFewest || facts.expected_squares == 0) return absl::nullopt;
  return facts.product / facts.expected_squares;
}

// ---- words ----

class Describer {
 public:
  Describer(const ErrorFacts& facts, const Explanations& tried, const Fits& fits)
      : facts_(facts), tried_(tried), fits_(fits), names_(AxisNames(facts.shape.size())) {}

  std::string Describe() const {
    if (facts_.wrong == 0) return "";
    std::vector<std::string> words;
    const std::string look = facts_.unwritten ? "" : Look();
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

  // Whether an explanation fits as good as all wrong elements.
  bool Believed(uint64_t fitting) const {
    return static_cast<double>(fitting) >= kBelief * static_cast<double>(facts_.wrong);
  }

  std::string Constant() const {
    if (facts_.wrong < kFewest) return "";
    if (facts_.nan == facts_.wrong) return "every wrong element is NaN";
    if (fits_.constant < facts_.wrong) return "";
    if (tried_.constant == 0) return "every wrong element is zero";
    return absl::StrFormat("every wrong element is the constant %g", tried_.constant);
  }

  std::string Transposed() const {
    if (!tried_.square || facts_.wrong < kFewest) return "";
    return Believed(fits_.mirrored) ? "expected and actual look transposed" : "";
  }

  // A factor explains little where values of the noise's size would do as well.
  std::string Factor() const {
    if (!tried_.factor.has_value() || !Believed(fits_.factor)) return "";
    return absl::StrCat("actual = expected x ", Short(*tried_.factor), MeaningOfFactor(*tried_.factor));
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
    for (auto axis = facts_.shape.rbegin(); axis != facts_.shape.rend(); ++axis) {
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
    const double mean = tried_.offset;
    if (facts_.wrong < kFewest || !std::isfinite(mean) || std::fabs(mean) <= 2 * kLikeness * facts_.scale()) return "";
    if (!Believed(fits_.offset)) return "";
    return absl::StrFormat("actual = expected %s %.4g", mean < 0 ? "-" : "+", std::fabs(mean));
  }

  std::string Shifted() const {
    if (facts_.wrong < kFewest || facts_.shape.size() < 2) return "";
    for (size_t neighbour = 0; neighbour < kNeighbours; ++neighbour) {
      // The edge that was shifted in may hold anything.
      const auto compared = static_cast<double>(fits_.shiftable[neighbour]);
      if (compared < kFewest || static_cast<double>(fits_.shifted[neighbour]) < 0.9 * compared) continue;
      return absl::StrFormat("actual is expected shifted by one %s (off by one)", neighbour < 2 ? "column" : "row");
    }
    return "";
  }

  // How actual goes with expected where nothing simpler explains it: no relation means wrong indices, a strong one
  // means a wrong formula.
  std::string Relation() const {
    const double expected = facts_.expected_squares, actual = facts_.actual_squares;
    if (facts_.not_finite > 0 || facts_.wrong < kFewestForRelation || expected == 0 || actual == 0) return "";
    const double correlation = facts_.product / std::sqrt(expected) / std::sqrt(actual);
    const double size = std::sqrt(actual / expected);
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

  std::string Place() const {
    if (facts_.wrong == facts_.elements()) return "every element is wrong";
    if (facts_.wrong == 1) return "a single element is wrong";
    std::vector<std::string> conditions;
    for (size_t axis = 0; axis < facts_.shape.size(); ++axis) {
      const std::string condition = AxisCondition(axis);
      if (!condition.empty()) conditions.push_back(condition);
    }
    const std::string diagonal = Diagonal();
    if (!diagonal.empty()) conditions.push_back(diagonal);
    return conditions.empty() ? "" : absl::StrCat("all errors have ", absl::StrJoin(conditions, " and "));
  }

  std::string AxisCondition(size_t axis) const {
    const int64_t extent = facts_.shape[axis];
    const std::vector<uint8_t>& hit = facts_.hits[axis];
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
  bool Significant(double share) const { return std::pow(share, static_cast<double>(facts_.wrong)) < 1e-3; }

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
    const size_t rank = facts_.shape.size();
    if (rank < 2 || facts_.shape[rank - 1] < 4 || facts_.shape[rank - 2] < 4 || facts_.wrong < kFewest) return "";
    const std::string &row = names_[rank - 2], &column = names_[rank - 1];
    // Errors in one corner are above the diagonal for another reason.
    const bool above = facts_.above == facts_.wrong && facts_.low_column <= facts_.high_row;
    const bool below = facts_.below == facts_.wrong && facts_.low_row <= facts_.high_column;
    if (above && Significant(0.5)) return absl::StrFormat("%s > %s", column, row);
    if (below && Significant(0.5)) return absl::StrFormat("%s < %s", column, row);
    return "";
  }

  const ErrorFacts& facts_;
  const Explanations& tried_;
  const Fits& fits_;
  const std::vector<std::string> names_;
};

}  // namespace

uint64_t ErrorFacts::elements() const {
  uint64_t product = 1;
  for (int64_t extent : shape) product *= static_cast<uint64_t>(extent);
  return product;
}

double ErrorFacts::scale() const {
  const uint64_t count = elements();
  return count == 0 ? 0 : std::sqrt(reference_squares / static_cast<double>(count));
}

std::array<int64_t, kNeighbours> NeighbourDistances(const std::vector<int64_t>& shape) {
  const int64_t columns = shape.empty() ? 1 : shape.back();
  return {1, -1, columns, -columns};
}

Explanations ExplanationsOf(const ErrorFacts& facts) {
  Explanations tried;
  const size_t rank = facts.shape.size();
  tried.constant = facts.first_actual;
  tried.likeness = kLikeness * facts.scale() + 1e-30;
  tried.factor = BestFactor(facts);
  // Near 1 it is rounding, near 0 nothing of the expected values is left.
  if (tried.factor.has_value() && (std::fabs(*tried.factor) < 1e-3 || std::fabs(*tried.factor - 1) < 5e-3)) {
    tried.factor.reset();
  }
  if (tried.factor.has_value()) {
    tried.factor_slack = kLikeness * facts.scale() * std::max(1.0, std::fabs(*tried.factor));
  }
  tried.offset = facts.wrong == 0 ? 0 : facts.difference / static_cast<double>(facts.wrong);
  tried.square = rank >= 2 && facts.shape[rank - 1] == facts.shape[rank - 2];
  return tried;
}

std::string DescribeErrors(const ErrorFacts& facts, const Explanations& tried, const Fits& fits) {
  return Describer(facts, tried, fits).Describe();
}

std::string DescribeErrors(const ErrorField& field) {
  const ErrorFacts facts = FactsOf(field);
  const Explanations tried = ExplanationsOf(facts);
  Fits fits;
  for (size_t i = 0; i < field.wrong.size(); ++i) {
    if (field.wrong[i]) Try(field, tried, i, fits);
  }
  return DescribeErrors(facts, tried, fits);
}

}  // namespace sassay::judge
