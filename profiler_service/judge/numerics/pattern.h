// Says in words where errors are and what they look like, because that is what repairs a kernel: "all errors have
// row >= 192" names the last tile, "actual = expected x 8" names the missing scale.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_PATTERN_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_PATTERN_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace sassay::judge {

// One compared output. All spans have one entry per element, outermost axis first.
struct ErrorField {
  std::vector<int64_t> shape;
  absl::Span<const double> expected;
  absl::Span<const double> actual;
  absl::Span<const uint8_t> wrong;  // 1 where the element is wrong
  // Most wrong elements hold what lay there before the call: their places tell something, their values do not.
  bool unwritten = false;
};

// The best description found, several joined by "; ". Empty if nothing is wrong or no pattern stands out. Pure and
// deterministic. Axes are called row and column for two axes, batch, head, row, column for four, batch, head, row for
// three.
//
// What it knows: constants, transposition, a common factor (and what it may stand for), a common offset, shifts by one
// row or column, failing these how far actual follows expected at all, and per axis: a half-open range, a single index,
// every k-th index; above or below the diagonal.
std::string DescribeErrors(const ErrorField& field);

// The same in the steps that a device takes, where the elements stay: what wrong elements add up to, which explanations
// that suggests, how many elements each of them fits, and the words.

// Sums and extremes over the wrong elements, and which indices of each axis they have.
struct ErrorFacts {
  std::vector<int64_t> shape;
  double reference_squares = 0;  // of all finite expected values
  uint64_t wrong = 0;
  uint64_t nan = 0;         // wrong elements whose actual value is NaN
  uint64_t not_finite = 0;  // whose actual or expected value is not finite
  double first_actual = 0;  // of the first wrong element
  double product = 0, expected_squares = 0, actual_squares = 0, difference = 0;
  std::vector<std::vector<uint8_t>> hits;  // for each axis, one entry for each index: 1 where an error has it
  // Of the last two axes; elements above the diagonal have column > row.
  uint64_t above = 0, below = 0;
  int64_t low_row = INT64_MAX, high_row = -1, low_column = INT64_MAX, high_column = -1;
  bool unwritten = false;  // as in ErrorField

  uint64_t elements() const;
  // Root mean square of the expected values.
  double scale() const;
};

// What may explain wrong elements: their actual value is...
struct Explanations {
  double constant = 0;            // ... this
  absl::optional<double> factor;  // ... this times the expected one, give or take factor_slack
  double factor_slack = 0;
  double offset = 0;    // ... the expected one and this, give or take likeness
  double likeness = 0;  // ... the mirrored or a neighbour's expected one, give or take this
  bool square = false;  // the last two axes are equal: mirroring makes sense
};

// Distances of the neighbours, in elements: one column forth and back, one row forth and back.
inline constexpr size_t kNeighbours = 4;
std::array<int64_t, kNeighbours> NeighbourDistances(const std::vector<int64_t>& shape);

// How many wrong elements each explanation fits. A neighbour's place may be outside: `shiftable` have one.
struct Fits {
  uint64_t constant = 0, factor = 0, offset = 0, mirrored = 0;
  std::array<uint64_t, kNeighbours> shifted{}, shiftable{};
};

// Which explanations are worth a look.
Explanations ExplanationsOf(const ErrorFacts& facts);
// As above.
std::string DescribeErrors(const ErrorFacts& facts, const Explanations& tried, const Fits& fits);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_PATTERN_H_
