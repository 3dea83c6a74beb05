// The rule that decides whether an output is right, and the peer's rule beside it.
//
// What an honest kernel cannot avoid, per element i with exact value r_i (computed in fp64 from the very bytes that the
// candidate read):
//   - rounding to the output's dtype: an error uniform in one unit in the last place, so a variance of ulp(r_i)^2 / 12;
//   - rounding of intermediates that every real kernel keeps in low precision, and accumulation in f32: `noise_i`, one
//     standard deviation, given by the reference (see reference/reference.h for each operator's derivation).
// Together: n_i = sqrt(ulp(r_i)^2 / 12 + noise_i^2).
//
// An output passes if
//   (1) rms(actual - r) <= kRmsMultiple * rms(n), and
//   (2) |actual_i - r_i| <= kElementMultiple * n_i for every element.
//
// Where the numbers come from. An ideal kernel has rms(error) = rms(n), ratio 1. Honest freedom multiplies it by at
// most about 1.5: bf16 partial sums of a split-K (sqrt 2), a Q scaled in bf16 before QK^T (1.22), both P and dS from a
// rounded P (sqrt 2). kRmsMultiple = 2 leaves room for that and not for more: accumulating a GEMM in bf16 costs sqrt(K
// / 2) (11 times at K = 256), fp8 inputs 16 times, a zero output 2^8 times. rms over thousands of elements has no luck
// in it, so (1) needs no slack for tails. (2) finds what rms hides, a few wrong elements among many: rounding alone
// never passes sqrt(3) n_i, and a Gaussian of deviation n_i passes 8 n_i once in 10^15 elements.
//
// Where the workload's vendor library runs (judge/gpu/library_noise.h), the rule is scaled by its own error on the same
// inputs: both multiples are multiplied by rms(library - r) / rms(n), but by no less than 1 (a library may keep in f32
// what an honest kernel may round to bf16) and no more than kMostLibraryNoise (beyond that it says nothing about honest
// arithmetic). The ratio is reported.
//
// Integers and bools must be equal, bit for bit. The peer's rule (PTXBench): an element fails if abs > 1e-2 and rel >
// 1e-2; all must pass. For attention that is 0.39 sigma of the output, so it is reported and does not decide.
//
// NaN or infinity where the reference is finite is wrong, and where the reference is not finite the actual value must
// be the same infinity or also NaN. "Finite" means: as the output's dtype can hold it, so that a value past fp16's
// range is that infinity.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_COMPARE_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_COMPARE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/workload/definition.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

inline constexpr double kRmsMultiple = 2.0;
inline constexpr double kElementMultiple = 8.0;
inline constexpr double kPeerTolerance = 1e-2;
inline constexpr double kMostLibraryNoise = 4.0;

// The exact values of one output and what honest arithmetic before the final rounding may add to them.
struct Expected {
  std::vector<double> values;
  std::vector<float> noise;  // one standard deviation, per element; empty means none
  // The output's own bytes where integers are too large for a double; empty where `values` tell all.
  std::string exact{};
};

// Multiples of the rule, for workloads that state their own.
struct Tolerance {
  double rms_multiple = kRmsMultiple;
  double element_multiple = kElementMultiple;
};

// The definition's multiples for an output, or the judge's own.
Tolerance ToleranceOf(const Definition& definition, const std::string& output);
// The same, scaled by a library's error in units of the modelled noise.
Tolerance Scaled(const Tolerance& tolerance, double library_error_ratio);
// What the definition says honest arithmetic adds to an output, as a fraction of its reference's rms, row by row.
double NoiseOfRms(const Definition& definition, const std::string& output);

// One output's comparison. `poison` is what the output held before the launch, same size as `actual`.
struct Compared {
  sassay::v1::OutputComparison report;
  bool passed = false;
  bool peer_rule_passed = false;
};

// |actual - expected| / (|expected| + this): FlashInfer-Bench's relative error, so that numbers compare.
inline constexpr double kRelativeErrorFloor = 1e-8;

// What comparing one output adds up to, wherever its elements are.
struct Totals {
  double error_squares = 0, noise_squares = 0, reference_squares = 0;  // over elements that are finite on both sides
  double max_abs_error = 0;
  double max_relative_error = 0;  // as in OutputComparison
  uint64_t wrong = 0, non_finite = 0, unwritten = 0, peer_rule_wrong = 0;
  // The worst element: most times its noise; among equals the larger error, then the first.
  int64_t worst = 0;
  double worst_expected = 0, worst_actual = 0;
};

// The rule, applied to the totals. `describe` says where errors are and what they look like, given whether most wrong
// elements were never written; it is called where the output fails.
Compared Conclude(const sassay::v1::TensorSpec& spec, const Totals& totals, const Tolerance& tolerance,
                  const std::function<std::string(bool unwritten)>& describe);

// An input that changed: how many bytes, and the first.
sassay::v1::Finding ModifiedInput(const sassay::v1::TensorSpec& spec, uint64_t changed_bytes, uint64_t first_byte);

// Elements of a row: the last axis; 1 for a scalar.
int64_t RowLength(const sassay::v1::TensorSpec& spec);

// Coordinates of an element, outermost axis first.
std::vector<int64_t> IndexOf(const sassay::v1::TensorSpec& spec, int64_t flat);

// Pure. `actual` and `poison` hold exactly the tensor's bytes; `expected` one value per element.
Compared CompareOutput(const sassay::v1::TensorSpec& spec, const Expected& expected, absl::string_view actual,
                       absl::string_view poison, const Tolerance& tolerance = {});

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_NUMERICS_COMPARE_H_
