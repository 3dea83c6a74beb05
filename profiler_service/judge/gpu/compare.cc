#include "profiler_service/judge/gpu/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "profiler_service/judge/gpu/operations.h"
#include "profiler_service/judge/numerics/element.h"
#include "profiler_service/judge/numerics/pattern.h"

namespace sassay::judge::gpu {
namespace {

using sassay::v1::TensorSpec;

// One output under comparison.
class Comparison {
 public:
  Comparison(Kernels& kernels, const TensorSpec& spec, const ExpectedOutput& expected, device::DeviceAddress actual)
      : kernels_(kernels), spec_(spec), shape_(spec.shape().begin(), spec.shape().end()) {
    of_.actual = actual;
    of_.values = expected.values.address();
    of_.noise = expected.noise ? expected.noise.address() : 0;
    of_.exact = expected.exact ? expected.exact.address() : 0;
    of_.count = ElementCount(spec);
    of_.values_element = expected.values_element;
  }

  absl::StatusOr<Compared> Run(uint64_t poison_seed, const Tolerance& tolerance) {
    ASSIGN_OR_RETURN(const Totals totals, Sum(poison_seed, tolerance));
    absl::Status trouble;
    const Compared compared = Conclude(spec_, totals, tolerance, [&](bool unwritten) {
      const absl::StatusOr<std::string> words = Describe(unwritten);
      trouble.Update(words.status());
      return words.value_or("");
    });
    RETURN_IF_ERROR(trouble);
    return compared;
  }

  absl::StatusOr<Totals> Sum(uint64_t poison_seed, const Tolerance& tolerance) {
    ASSIGN_OR_RETURN(of_.output, ElementOf(spec_.dtype()));
    ASSIGN_OR_RETURN(wrong_, kernels_.Allocate(of_.count, "wrong elements"));
    of_.wrong = wrong_.address();
    CompareArguments arguments{};
    arguments.of = of_;
    arguments.poison_seed = poison_seed;
    arguments.element_multiple = tolerance.element_multiple;
    arguments.peer_tolerance = kPeerTolerance;
    arguments.relative_error_floor = kRelativeErrorFloor;
    arguments.floating = IsFloating(spec_.dtype());
    ASSIGN_OR_RETURN(const auto partials, kernels_.Gather<ComparePartial>("sassay_compare", of_.count, arguments));
    return Add(partials);
  }

 private:
  absl::StatusOr<Totals> Add(const std::vector<ComparePartial>& partials) {
    Totals totals;
    const ComparePartial* worst = nullptr;
    for (const ComparePartial& partial : partials) {
      totals.error_squares += partial.error_squares;
      totals.noise_squares += partial.noise_squares;
      totals.reference_squares += partial.reference_squares;
      totals.max_abs_error = std::max(totals.max_abs_error, partial.max_abs_error);
      totals.max_relative_error = std::max(totals.max_relative_error, partial.max_relative_error);
      totals.wrong += partial.wrong;
      totals.non_finite += partial.non_finite;
      totals.unwritten += partial.unwritten;
      totals.peer_rule_wrong += partial.peer_rule_wrong;
      if (partial.worst_badness >= 0 && (worst == nullptr || Worse(partial, *worst))) worst = &partial;
    }
    if (of_.count == 0) return totals;
    totals.worst = worst == nullptr ? 0 : worst->worst;
    ASSIGN_OR_RETURN(totals.worst_expected, ElementAt(of_.values, of_.values_element, totals.worst));
    ASSIGN_OR_RETURN(totals.worst_actual, ElementAt(of_.actual, of_.output, totals.worst));
    return totals;
  }

  static bool Worse(const ComparePartial& a, const ComparePartial& b) {
    if (a.worst_badness != b.worst_badness) return a.worst_badness > b.worst_badness;
    if (a.worst_error != b.worst_error) return a.worst_error > b.worst_error;
    return a.worst < b.worst;
  }

  absl::StatusOr<double> ElementAt(device::DeviceAddress base, Element element, int64_t index) {
    char bytes[8];
    RETURN_IF_ERROR(kernels_.Fetch(bytes, WidthOf(element), At({base, element}, index)));
    if (element == Element::kFloat64) return LoadElement(sassay::v1::DTYPE_FLOAT64, bytes);
    if (element == Element::kFloat32) return LoadElement(sassay::v1::DTYPE_FLOAT32, bytes);
    return LoadElement(spec_.dtype(), bytes);
  }

  absl::StatusOr<std::string> Describe(bool unwritten) {
    ASSIGN_OR_RETURN(ErrorFacts facts, Facts());
    facts.unwritten = unwritten;
    if (facts.wrong == 0) return std::string();
    const Explanations tried = ExplanationsOf(facts);
    ASSIGN_OR_RETURN(const Fits fits, FitsOf(facts, tried));
    return DescribeErrors(facts, tried, fits);
  }

  absl::StatusOr<ErrorFacts> Facts() {
    uint64_t extents = 0;
    for (int64_t extent : shape_) extents += static_cast<uint64_t>(extent);
    ASSIGN_OR_RETURN(const DeviceMemory hits, kernels_.Upload(std::string(extents, '\0'), "where errors are"));
    ErrorFactsArguments arguments{};
    arguments.of = of_;
    arguments.hits = hits.address();
    arguments.rank = static_cast<int32_t>(shape_.size());
    if (shape_.size() > kMaxAxes) return absl::InternalError("a tensor of more axes than the comparison knows");
    std::copy(shape_.begin(), shape_.end(), arguments.shape);
    ASSIGN_OR_RETURN(const auto partials,
                     kernels_.Gather<ErrorFactsPartial>("sassay_error_facts", of_.count, arguments));
    ErrorFacts facts;
    facts.shape = shape_;
    uint64_t first = UINT64_MAX;
    for (const ErrorFactsPartial& partial : partials) {
      Add(partial, facts);
      first = std::min(first, partial.first);
    }
    if (facts.wrong == 0) return facts;
    ASSIGN_OR_RETURN(facts.first_actual, ElementAt(of_.actual, of_.output, static_cast<int64_t>(first)));
    std::string hit(extents, '\0');
    RETURN_IF_ERROR(kernels_.Fetch(hit.data(), extents, hits.address()));
    for (size_t axis = 0, at = 0; axis < shape_.size(); at += static_cast<size_t>(shape_[axis++])) {
      facts.hits.emplace_back(hit.begin() + static_cast<int64_t>(at),
                              hit.begin() + static_cast<int64_t>(at) + shape_[axis]);
    }
    return facts;
  }

  static void Add(const ErrorFactsPartial& partial, ErrorFacts& facts) {
    facts.reference_squares += partial.reference_squares;
    facts.wrong += partial.wrong;
    facts.nan += partial.nan;
    facts.not_finite += partial.not_finite;
    facts.product += partial.product;
    facts.expected_squares += partial.expected_squares;
    facts.actual_squares += partial.actual_squares;
    facts.difference += partial.difference;
    facts.above += partial.above;
    facts.below += partial.below;
    facts.low_row = std::min(facts.low_row, partial.low_row);
    facts.high_row = std::max(facts.high_row, partial.high_row);
    facts.low_column = std::min(facts.low_column, partial.low_column);
    facts.high_column = std::max(facts.high_column, partial.high_column);
  }

  absl::StatusOr<Fits> FitsOf(const ErrorFacts& facts, const Explanations& tried) {
    static_assert(kShifts == kNeighbours);
    ErrorGuessesArguments arguments{};
    arguments.of = of_;
    arguments.first = tried.constant;
    arguments.use_factor = tried.factor.has_value();
    arguments.factor = tried.factor.value_or(0);
    arguments.factor_slack = tried.factor_slack;
    arguments.offset = tried.offset;
    arguments.likeness = tried.likeness;
    arguments.columns = NeighbourDistances(shape_)[2];
    arguments.square = tried.square;
    ASSIGN_OR_RETURN(const auto partials,
                     kernels_.Gather<ErrorGuessesPartial>("sassay_error_guesses", of_.count, arguments));
    Fits fits;
    for (const ErrorGuessesPartial& partial : partials) {
      fits.constant += partial.like_first;
      fits.mirrored += partial.transposed;
      fits.factor += partial.factor;
      fits.offset += partial.offset;
      for (size_t i = 0; i < kNeighbours; ++i) {
        fits.shifted[i] += partial.shifted[i];
        fits.shiftable[i] += partial.shiftable[i];
      }
    }
    return fits;
  }

  Kernels& kernels_;
  const TensorSpec& spec_;
  const std::vector<int64_t> shape_;
  OutputArguments of_{};
  DeviceMemory wrong_;  // one byte for each element
};

}  // namespace

absl::StatusOr<Compared> CompareOutput(Kernels& kernels, const TensorSpec& spec, const ExpectedOutput& expected,
                                       device::DeviceAddress actual, uint64_t poison_seed, const Tolerance& tolerance) {
  return Comparison(kernels, spec, expected, actual).Run(poison_seed, tolerance);
}

absl::StatusOr<double> NoiseRatio(Kernels& kernels, const TensorSpec& spec, const ExpectedOutput& expected,
                                  device::DeviceAddress actual) {
  ASSIGN_OR_RETURN(const Totals totals, Comparison(kernels, spec, expected, actual).Sum(0, Tolerance()));
  if (totals.non_finite > 0 || !(totals.noise_squares > 0)) return HUGE_VAL;
  return std::sqrt(totals.error_squares / totals.noise_squares);
}

}  // namespace sassay::judge::gpu
