#include "profiler_service/judge/inputs/inputs.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "common/workload/expression.h"
#include "profiler_service/judge/inputs/philox.h"
#include "profiler_service/judge/numerics/element.h"
#include "profiler_service/judge/parallel.h"

namespace sassay::judge {
namespace {

using sassay::v1::DType;

constexpr int64_t kChunk = 1 << 16;
constexpr int64_t kPerBlock = 8;  // 16 random bits for each element
constexpr uint32_t kOutlierOneIn = 1024;
constexpr double kOutlierFactor = 16;
constexpr double kSmallFactor = 1.0 / 64;

// Standard normal quantiles of (k + 1/2) / 65536. Its tails end at 4.3 sigma; outliers are the wide distribution's
// task.
class NormalTable {
 public:
  NormalTable() {
    double guess = -5;
    for (size_t k = 0; k < values_.size(); ++k) {
      guess = Quantile((static_cast<double>(k) + 0.5) / static_cast<double>(values_.size()), guess);
      values_[k] = static_cast<float>(guess);
    }
  }
  const std::vector<float>& values() const { return values_; }

 private:
  // Bisection from the neighbour's quantile: quantiles ascend.
  static double Quantile(double probability, double low) {
    double high = 5;
    for (int i = 0; i < 45; ++i) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
    }
    return low;
  }
  std::vector<float> values_ = std::vector<float>(1 << 16);
};

double Normal(uint16_t bits) { return NormalQuantiles()[bits]; }

// Everything about one element: its own 16 bits, its block's further bits, and its row's.
class Generator {
 public:
  Generator(const sassay::v1::TensorSpec& spec, uint64_t seed, const Recipe& recipe)
      : dtype_(spec.dtype()), seed_(seed), recipe_(recipe) {}

  void Block(int64_t block, int64_t end, char* bytes) const {
    const PhiloxBlock random = Bits(block, 0), extra = Bits(block, 1);
    const size_t width = DTypeBytes(dtype_);
    for (int64_t i = block * kPerBlock; i < std::min(end, (block + 1) * kPerBlock); ++i) {
      const auto lane = static_cast<unsigned>(i % kPerBlock);
      const auto bits = static_cast<uint16_t>(random[lane / 2] >> (lane % 2 * 16));
      const auto more = static_cast<uint16_t>(extra[lane / 2] >> (lane % 2 * 16));
      StoreElement(dtype_, IsFloating(dtype_) ? Float(i, bits, more) : Integer(bits, more), bytes + i * width);
    }
  }

 private:
  PhiloxBlock Bits(int64_t index, uint32_t purpose) const {
    return Philox(seed_, {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), recipe_.stream, purpose});
  }

  double Float(int64_t i, uint16_t bits, uint16_t more) const {
    switch (recipe_.distribution) {
      case Distribution::kNormal:
        return Normal(bits);
      case Distribution::kOutliers:
        return Normal(bits) * (more % kOutlierOneIn == 0 ? kOutlierFactor : 1);
      case Distribution::kIntegers:
        return bits % 9 - 4;
      case Distribution::kSmall:
        return Normal(bits) * kSmallFactor;
      case Distribution::kStructured:
        return RowMean(i / recipe_.columns) + 0.5 * Normal(bits);
      case Distribution::kUniform:
      case Distribution::kDecoy:
        return bits / 32768.0 - 1;
    }
    return 0;
  }

  double RowMean(int64_t row) const { return Bits(row, 2)[0] / 2147483648.0 - 1; }

  double Integer(uint16_t bits, uint16_t more) const {
    if (dtype_ == sassay::v1::DTYPE_BOOL) return bits & 1;
    const int64_t number = int64_t{more} << 16 | bits;
    return static_cast<double>(recipe_.minimum + number % recipe_.extent);
  }

  const DType dtype_;
  const uint64_t seed_;
  const Recipe recipe_;
};

struct Named {
  const char* name;
  Distribution distribution;
};
constexpr Named kNames[] = {{"normal", Distribution::kNormal},     {"uniform", Distribution::kUniform},
                            {"outliers", Distribution::kOutliers}, {"integers", Distribution::kIntegers},
                            {"small", Distribution::kSmall},       {"structured", Distribution::kStructured},
                            {"decoy", Distribution::kDecoy}};

}  // namespace

absl::StatusOr<Distribution> ParseDistribution(absl::string_view name) {
  for (const Named& known : kNames) {
    if (name == known.name) return known.distribution;
  }
  const auto spell = [](std::string* out, const Named& known) { absl::StrAppend(out, known.name); };
  return absl::InvalidArgumentError(
      absl::StrCat("distribution \"", name, "\" is unknown; known are ", absl::StrJoin(kNames, ", ", spell)));
}

absl::StatusOr<IntegerRange> RangeOf(const Definition& definition, const sassay::v1::TensorSpec& input,
                                     const std::map<std::string, int64_t>& axes) {
  const auto found = definition.ranges.find(input.name());
  if (found == definition.ranges.end()) return IntegerRange();
  ASSIGN_OR_RETURN(const double minimum, EvaluateExpression(found->second.minimum, axes));
  ASSIGN_OR_RETURN(const double maximum, EvaluateExpression(found->second.maximum, axes));
  return IntegerRange{static_cast<int64_t>(minimum), static_cast<int64_t>(maximum)};
}

Recipe RecipeOf(const sassay::v1::TensorSpec& spec, uint32_t tensor, Distribution distribution,
                const IntegerRange& range) {
  Recipe recipe;
  recipe.distribution = distribution;
  recipe.stream = tensor * 16 + static_cast<uint32_t>(distribution);
  recipe.columns = spec.shape().empty() ? 1 : std::max<int64_t>(1, spec.shape(spec.shape_size() - 1));
  const bool is_unsigned = spec.dtype() == sassay::v1::DTYPE_UINT8;
  recipe.minimum = is_unsigned ? std::max<int64_t>(0, range.minimum) : range.minimum;
  recipe.extent = std::max<int64_t>(0, range.maximum - recipe.minimum) + 1;
  return recipe;
}

const std::vector<float>& NormalQuantiles() {
  static const NormalTable* const kTable = new NormalTable();
  return kTable->values();
}

std::string GenerateTensor(const sassay::v1::TensorSpec& spec, uint64_t seed, uint32_t tensor,
                           Distribution distribution, int threads, const IntegerRange& range) {
  const auto count = static_cast<int64_t>(ElementCount(spec));
  std::string bytes(TensorBytes(spec), '\0');
  const Generator generator(spec, seed, RecipeOf(spec, tensor, distribution, range));
  Normal(0);  // builds the table before threads share it
  ParallelFor((count + kChunk - 1) / kChunk, threads, [&](int64_t chunk) {
    const int64_t end = std::min(count, (chunk + 1) * kChunk);
    for (int64_t block = chunk * kChunk / kPerBlock; block * kPerBlock < end; ++block) {
      generator.Block(block, end, bytes.data());
    }
  });
  return bytes;
}

}  // namespace sassay::judge
