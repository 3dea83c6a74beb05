#include "profiler_service/judge/reference/gemm_reference.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "profiler_service/judge/numerics/element.h"
#include "profiler_service/judge/parallel.h"
#include "profiler_service/judge/reference/matrix.h"

namespace sassay::judge {
namespace {

using sassay::v1::TensorSpec;

constexpr int64_t kBlockRows = 32;

std::vector<double> RowNorms(const std::vector<double>& matrix, int64_t rows, int64_t columns) {
  std::vector<double> norms(rows);
  for (int64_t i = 0; i < rows; ++i) {
    double squares = 0;
    for (int64_t j = 0; j < columns; ++j) squares += matrix[i * columns + j] * matrix[i * columns + j];
    norms[i] = std::sqrt(squares);
  }
  return norms;
}

class GemmReference : public Reference {
 public:
  GemmReference(const TensorSpec& a, const TensorSpec& b)
      : a_(a), b_(b), m_(a.shape(0)), n_(b.shape(0)), k_(a.shape(1)) {}

  double MultiplyAdds() const override {
    return static_cast<double>(m_) * static_cast<double>(n_) * static_cast<double>(k_);
  }

  absl::StatusOr<std::vector<Expected>> Compute(const std::vector<std::string>& inputs,
                                                const Effort& effort) const override {
    const std::vector<double> a = DecodeDoubles(a_.dtype(), inputs[0]), b = DecodeDoubles(b_.dtype(), inputs[1]);
    const std::vector<double> a_norms = RowNorms(a, m_, k_), b_norms = RowNorms(b, n_, k_);
    const double unit = std::sqrt(static_cast<double>(k_)) * std::ldexp(1.0, -24);
    Expected expected;
    expected.values.resize(m_ * n_);
    expected.noise.resize(m_ * n_);
    ParallelFor((m_ + kBlockRows - 1) / kBlockRows, effort, [&](int64_t block) {
      const int64_t first = block * kBlockRows, rows = std::min(kBlockRows, m_ - first);
      Multiply(RowMajor(a.data(), m_, k_).Rows(first, rows), RowMajor(b.data(), n_, k_).Transposed(),
               &expected.values[first * n_], n_, false);
      for (int64_t i = first; i < first + rows; ++i) {
        for (int64_t j = 0; j < n_; ++j) {
          expected.noise[i * n_ + j] = static_cast<float>(unit * a_norms[i] * b_norms[j]);
        }
      }
    });
    return std::vector<Expected>{std::move(expected)};
  }

 private:
  const TensorSpec a_, b_;
  const int64_t m_, n_, k_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Reference>> MakeGemmReference(const sassay::v1::Workload& workload) {
  const bool counts = workload.inputs_size() == 2 && workload.outputs_size() == 1;
  const bool ranks = counts && workload.inputs(0).shape_size() == 2 && workload.inputs(1).shape_size() == 2 &&
                     workload.outputs(0).shape_size() == 2;
  if (!ranks || workload.inputs(0).shape(1) != workload.inputs(1).shape(1) ||
      workload.outputs(0).shape(0) != workload.inputs(0).shape(0) ||
      workload.outputs(0).shape(1) != workload.inputs(1).shape(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(workload.name(),
                     ": builtin:gemm expects inputs A[M,K] and B[N,K] and one output C[M,N]; correct the definition"));
  }
  return std::unique_ptr<Reference>(std::make_unique<GemmReference>(workload.inputs(0), workload.inputs(1)));
}

}  // namespace sassay::judge
