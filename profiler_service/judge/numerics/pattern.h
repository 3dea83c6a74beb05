// Says in words where errors are and what they look like, because that is what repairs a kernel: "all errors have
// row >= 192" names the last tile, "actual = expected x 8" names the missing scale.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_PATTERN_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_PATTERN_H_

#include <cstdint>
#include <string>
#include <vector>

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

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_PATTERN_H_
