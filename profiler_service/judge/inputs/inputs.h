// Contents of input tensors: a pure function of (seed, tensor, distribution), so that a verdict can be reproduced and
// nothing can be known without the seed.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_INPUTS_INPUTS_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_INPUTS_INPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/workload/definition.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::judge {

// What values look like. One distribution lets a cheat live that another finds.
enum class Distribution {
  kNormal,      // N(0, 1): what the workload's users have
  kUniform,     // U[-1, 1)
  kOutliers,    // N(0, 1), one element in 1024 sixteen times as large: finds narrow ranges, missing softmax maxima
  kIntegers,    // whole numbers from -4 to 4: sums are exact, so any dropped term shows
  kSmall,       // N(0, 1/64^2): finds answers that only pass because a tolerance is absolute
  kStructured,  // every row has its own mean: finds swapped rows, transposition, results that average out
  kDecoy,  // uniform in [-1, 1), never judged: what setup sees, so that nothing about judged inputs can be computed
           // there
};

// "normal", "uniform", "outliers", "integers", "small", "structured", "decoy"; INVALID_ARGUMENT with the list
// otherwise.
absl::StatusOr<Distribution> ParseDistribution(absl::string_view name);

// Values of an integer tensor, both ends included. Unsigned types start at 0 unless told otherwise.
struct IntegerRange {
  int64_t minimum = -8;
  int64_t maximum = 8;
};

// The range that the definition gives an input with these axes; the default where it says nothing.
absl::StatusOr<IntegerRange> RangeOf(const Definition& definition, const sassay::v1::TensorSpec& input,
                                     const std::map<std::string, int64_t>& axes);

// What decides a tensor's contents besides the seed: every maker of inputs, on the CPU or on a GPU, starts from this.
struct Recipe {
  Distribution distribution = Distribution::kNormal;
  uint32_t stream = 0;              // third word of Philox's counter
  int64_t columns = 1;              // of a row that has a mean of its own
  int64_t minimum = 0, extent = 1;  // of integers
};
Recipe RecipeOf(const sassay::v1::TensorSpec& spec, uint32_t tensor, Distribution distribution,
                const IntegerRange& range);

// Standard normal quantiles of (k + 1/2) / 65536: what 16 random bits stand for.
const std::vector<float>& NormalQuantiles();

// The bytes of one tensor. Integer tensors are uniform over `range`, bools fair coins. Uses `threads` threads;
// the result does not depend on their number.
std::string GenerateTensor(const sassay::v1::TensorSpec& spec, uint64_t seed, uint32_t tensor,
                           Distribution distribution, int threads, const IntegerRange& range = {});

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_INPUTS_INPUTS_H_
