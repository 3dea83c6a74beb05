#include "profiler_service/judge/reference/attention_reference.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "profiler_service/judge/numerics/element.h"
#include "profiler_service/judge/parallel.h"
#include "profiler_service/judge/reference/matrix.h"

namespace sassay::judge {
namespace {

using sassay::v1::TensorSpec;
using sassay::v1::Workload;

constexpr int64_t kBlockRows = 64;

struct Shape {
  int64_t heads, rows, columns;  // batch and head together, sequence, head dimension
  bool causal;
  double scale() const { return 1 / std::sqrt(static_cast<double>(columns)); }
  int64_t matrix() const { return rows * columns; }
  // Keys that a block of queries ending at `end` may see.
  int64_t Visible(int64_t end) const { return causal ? std::min(end, rows) : rows; }
};

std::vector<double> Squares(const std::vector<double>& values) {
  std::vector<double> squares(values.size());
  std::transform(values.begin(), values.end(), squares.begin(), [](double value) { return value * value; });
  return squares;
}

double Norm(const double* row, int64_t count) {
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += row[i] * row[i];
  return std::sqrt(squares);
}

double LargestNorm(const double* matrix, int64_t rows, int64_t columns) {
  double largest = 0;
  for (int64_t i = 0; i < rows; ++i) largest = std::max(largest, Norm(matrix + i * columns, columns));
  return largest;
}

std::vector<float> Roots(const std::vector<double>& squares, double factor) {
  std::vector<float> roots(squares.size());
  std::transform(squares.begin(), squares.end(), roots.begin(),
                 [&](double value) { return static_cast<float>(factor * std::sqrt(std::max(0.0, value))); });
  return roots;
}

// One head's scores for a block of queries, masked entries at -infinity; [rows, visible].
std::vector<double> Scores(const Shape& shape, const double* q, const double* k, int64_t first, int64_t rows,
                           int64_t visible) {
  std::vector<double> scores(rows * visible);
  Multiply(RowMajor(q + first * shape.columns, rows, shape.columns), RowMajor(k, visible, shape.columns).Transposed(),
           scores.data(), visible, false);
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < visible; ++j) {
      double& score = scores[i * visible + j];
      score = shape.causal && j > first + i ? -HUGE_VAL : score * shape.scale();
    }
  }
  return scores;
}

// Relative rms error of a row of P.
double RowError(const Shape& shape, const double* q_row, double largest_key) {
  const double score_error = kF32 * shape.scale() * Norm(q_row, shape.columns) * largest_key;
  return std::hypot(kBf16Rms, score_error);
}

// ---- forward ----

struct ForwardResult {
  std::vector<double> output, lse;
  std::vector<double> output_noise_squares, lse_noise;
};

class ForwardHead {
 public:
  ForwardHead(const Shape& shape, const double* q, const double* k, const double* v, const double* v_squares)
      : shape_(shape),
        q_(q),
        k_(k),
        v_(v),
        v_squares_(v_squares),
        largest_key_(LargestNorm(k, shape.rows, shape.columns)) {}

  void Run(double* output, double* lse, double* output_noise_squares, double* lse_noise) const {
    for (int64_t first = 0; first < shape_.rows; first += kBlockRows) {
      const int64_t rows = std::min(kBlockRows, shape_.rows - first), visible = shape_.Visible(first + rows);
      std::vector<double> p = Scores(shape_, q_, k_, first, rows, visible), weighted(p.size());
      for (int64_t i = 0; i < rows; ++i) {
        Softmax(first + i, &p[i * visible], &weighted[i * visible], visible, lse + first + i, lse_noise + first + i);
      }
      const int64_t columns = shape_.columns;
      Multiply(RowMajor(p.data(), rows, visible), RowMajor(v_, visible, columns), output + first * columns, columns,
               false);
      Multiply(RowMajor(weighted.data(), rows, visible), RowMajor(v_squares_, visible, columns),
               output_noise_squares + first * columns, columns, false);
    }
  }

 private:
  // Turns a row of scores into probabilities, and into the squares of their errors.
  void Softmax(int64_t row, double* p, double* weighted, int64_t count, double* lse, double* lse_noise) const {
    const double top = *std::max_element(p, p + count);
    double sum = 0;
    for (int64_t j = 0; j < count; ++j) sum += p[j] = std::exp(p[j] - top);
    const double error = RowError(shape_, q_ + row * shape_.columns, largest_key_);
    double squares = 0;
    for (int64_t j = 0; j < count; ++j) {
      p[j] /= sum;
      squares += p[j] * p[j];
      weighted[j] = error * error * p[j] * p[j];
    }
    *lse = top + std::log(sum);
    const double score_error = shape_.scale() * Norm(q_ + row * shape_.columns, shape_.columns) * largest_key_;
    *lse_noise = error * std::sqrt(squares) + kF32 * (score_error + std::max(1.0, std::fabs(*lse)));
  }

  const Shape& shape_;
  const double *q_, *k_, *v_, *v_squares_;
  const double largest_key_;
};

ForwardResult Forward(const Shape& shape, const std::vector<double>& q, const std::vector<double>& k,
                      const std::vector<double>& v, const Effort& effort) {
  const std::vector<double> v_squares = Squares(v);
  ForwardResult result;
  for (std::vector<double>* part : {&result.output, &result.output_noise_squares}) part->resize(q.size());
  for (std::vector<double>* part : {&result.lse, &result.lse_noise}) part->resize(shape.heads * shape.rows);
  ParallelFor(shape.heads, effort, [&](int64_t head) {
    const int64_t at = head * shape.matrix(), row = head * shape.rows;
    ForwardHead(shape, &q[at], &k[at], &v[at], &v_squares[at])
        .Run(&result.output[at], &result.lse[row], &result.output_noise_squares[at], &result.lse_noise[row]);
  });
  return result;
}

class ForwardReference : public Reference {
 public:
  ForwardReference(const Workload& workload, const Shape& shape) : workload_(workload), shape_(shape) {}

  double MultiplyAdds() const override {
    const double square = static_cast<double>(shape_.rows) * static_cast<double>(shape_.rows);
    return 3 * square * static_cast<double>(shape_.columns * shape_.heads) * (shape_.causal ? 0.5 : 1);
  }

  absl::StatusOr<std::vector<Expected>> Compute(const std::vector<std::string>& inputs,
                                                const Effort& effort) const override {
    const auto decode = [&](int input) { return DecodeDoubles(workload_.inputs(input).dtype(), inputs[input]); };
    ForwardResult result = Forward(shape_, decode(0), decode(1), decode(2), effort);
    std::vector<Expected> expected(2);
    expected[0] = {std::move(result.output), Roots(result.output_noise_squares, 1)};
    expected[1] = {std::move(result.lse), std::vector<float>(result.lse_noise.begin(), result.lse_noise.end())};
    return expected;
  }

 private:
  const Workload workload_;
  const Shape shape_;
};

// ---- backward ----

enum BackwardInput { kQ, kK, kV, kO, kGradO, kLse };

// What one head reads and writes.
struct BackwardHeadData {
  const double *q, *k, *v, *o, *grad_o, *lse;
  const double *q_squares, *k_squares, *grad_o_squares;
  double *dq, *dk, *dv, *dq_noise, *dk_noise, *dv_noise;  // noise squared, without the scale
};

class BackwardHead {
 public:
  BackwardHead(const Shape& shape, const BackwardHeadData& data)
      : shape_(shape),
        data_(data),
        largest_key_(LargestNorm(data.k, shape.rows, shape.columns)),
        largest_value_(LargestNorm(data.v, shape.rows, shape.columns)) {}

  void Run() const {
    for (int64_t first = 0; first < shape_.rows; first += kBlockRows) {
      Block(first, std::min(kBlockRows, shape_.rows - first));
    }
  }

 private:
  void Block(int64_t first, int64_t rows) const {
    const int64_t visible = shape_.Visible(first + rows), columns = shape_.columns;
    std::vector<double> p = Scores(shape_, data_.q, data_.k, first, rows, visible), ds(p.size()), p_noise(p.size()),
                        ds_noise(p.size());
    Multiply(RowMajor(data_.grad_o + first * columns, rows, columns), RowMajor(data_.v, visible, columns).Transposed(),
             ds.data(), visible, false);
    for (int64_t i = 0; i < rows; ++i) {
      Row(first + i, visible, &p[i * visible], &ds[i * visible], &p_noise[i * visible], &ds_noise[i * visible]);
    }
    const auto rows_of = [&](const double* matrix) { return RowMajor(matrix + first * columns, rows, columns); };
    const auto square = [&](const std::vector<double>& matrix) { return RowMajor(matrix.data(), rows, visible); };
    Multiply(square(ds), RowMajor(data_.k, visible, columns), data_.dq + first * columns, columns, false);
    Multiply(square(ds_noise), RowMajor(data_.k_squares, visible, columns), data_.dq_noise + first * columns, columns,
             false);
    Multiply(square(ds).Transposed(), rows_of(data_.q), data_.dk, columns, true);
    Multiply(square(ds_noise).Transposed(), rows_of(data_.q_squares), data_.dk_noise, columns, true);
    Multiply(square(p).Transposed(), rows_of(data_.grad_o), data_.dv, columns, true);
    Multiply(square(p_noise).Transposed(), rows_of(data_.grad_o_squares), data_.dv_noise, columns, true);
  }

  // In: scores and dP. Out: P, dS, and the squares of their errors.
  void Row(int64_t row, int64_t count, double* p, double* ds, double* p_noise, double* ds_noise) const {
    const int64_t columns = shape_.columns;
    const double *o = data_.o + row * columns, *grad_o = data_.grad_o + row * columns;
    double delta = 0;
    for (int64_t d = 0; d < columns; ++d) delta += o[d] * grad_o[d];
    const double error = RowError(shape_, data_.q + row * columns, largest_key_);
    const double cancelled = kF32 * Norm(grad_o, columns) * std::max(largest_value_, Norm(o, columns));
    for (int64_t j = 0; j < count; ++j) {
      p[j] = std::exp(p[j] - data_.lse[row]);
      ds[j] = p[j] * (ds[j] - delta);
      p_noise[j] = error * error * p[j] * p[j];
      ds_noise[j] = error * error * ds[j] * ds[j] + cancelled * cancelled * p[j] * p[j];
    }
  }

  const Shape& shape_;
  const BackwardHeadData& data_;
  const double largest_key_, largest_value_;
};

class BackwardReference : public Reference {
 public:
  BackwardReference(const Workload& workload, const Shape& shape) : workload_(workload), shape_(shape) {}

  double MultiplyAdds() const override {
    const double square = static_cast<double>(shape_.rows) * static_cast<double>(shape_.rows);
    return 11 * square * static_cast<double>(shape_.columns * shape_.heads) * (shape_.causal ? 0.5 : 1);
  }

  absl::Status Complete(std::vector<std::string>& inputs, const Effort& effort) const override {
    const ForwardResult forward = Forward(shape_, Decode(inputs, kQ), Decode(inputs, kK), Decode(inputs, kV), effort);
    inputs[kO] = EncodeDoubles(workload_.inputs(kO).dtype(), forward.output);
    inputs[kLse] = EncodeDoubles(workload_.inputs(kLse).dtype(), forward.lse);
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Expected>> Compute(const std::vector<std::string>& inputs,
                                                const Effort& effort) const override {
    std::vector<double> tensors[6];
    for (int input = 0; input < 6; ++input) tensors[input] = Decode(inputs, input);
    const std::vector<double> q_squares = Squares(tensors[kQ]), k_squares = Squares(tensors[kK]),
                              grad_o_squares = Squares(tensors[kGradO]);
    std::vector<double> results[6];  // dQ, dK, dV and their noise
    for (std::vector<double>& result : results) result.assign(shape_.heads * shape_.matrix(), 0);
    ParallelFor(shape_.heads, effort, [&](int64_t head) {
      const int64_t at = head * shape_.matrix();
      BackwardHead(shape_, {&tensors[kQ][at], &tensors[kK][at], &tensors[kV][at], &tensors[kO][at],
                            &tensors[kGradO][at], &tensors[kLse][head * shape_.rows], &q_squares[at], &k_squares[at],
                            &grad_o_squares[at], &results[0][at], &results[1][at], &results[2][at], &results[3][at],
                            &results[4][at], &results[5][at]})
          .Run();
    });
    for (int scaled : {0, 1}) {
      for (double& value : results[scaled]) value *= shape_.scale();
    }
    std::vector<Expected> expected;
    for (int output = 0; output < 3; ++output) {
      expected.push_back({std::move(results[output]), Roots(results[output + 3], output == 2 ? 1 : shape_.scale())});
    }
    return expected;
  }

 private:
  std::vector<double> Decode(const std::vector<std::string>& inputs, int input) const {
    return DecodeDoubles(workload_.inputs(input).dtype(), inputs[input]);
  }

  const Workload workload_;
  const Shape shape_;
};

// ---- shapes ----

bool SameShape(const TensorSpec& a, const TensorSpec& b) {
  return std::equal(a.shape().begin(), a.shape().end(), b.shape().begin(), b.shape().end());
}

bool IsRowStatistic(const TensorSpec& statistic, const TensorSpec& q) {
  return q.shape_size() == 4 &&
         std::equal(statistic.shape().begin(), statistic.shape().end(), q.shape().begin(), q.shape().begin() + 3);
}

bool AllLikeQ(const Workload& workload, std::initializer_list<const TensorSpec*> tensors) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const TensorSpec* tensor) { return SameShape(*tensor, workload.inputs(0)); });
}

Shape ShapeOf(const TensorSpec& q, bool causal) { return {q.shape(0) * q.shape(1), q.shape(2), q.shape(3), causal}; }

}  // namespace

absl::StatusOr<std::unique_ptr<Reference>> MakeAttentionForwardReference(const Workload& workload, bool causal) {
  if (workload.inputs_size() != 3 || workload.outputs_size() != 2 || workload.inputs(0).shape_size() != 4 ||
      !AllLikeQ(workload, {&workload.inputs(1), &workload.inputs(2), &workload.outputs(0)}) ||
      !IsRowStatistic(workload.outputs(1), workload.inputs(0))) {
    return absl::InvalidArgumentError(absl::StrCat(workload.name(),
                                                   ": builtin attention expects inputs Q, K, V [B,H,S,D] and outputs O "
                                                   "[B,H,S,D], LSE [B,H,S]; correct the definition"));
  }
  return std::unique_ptr<Reference>(std::make_unique<ForwardReference>(workload, ShapeOf(workload.inputs(0), causal)));
}

absl::StatusOr<std::unique_ptr<Reference>> MakeAttentionBackwardReference(const Workload& workload, bool causal) {
  if (workload.inputs_size() != 6 || workload.outputs_size() != 3 || workload.inputs(0).shape_size() != 4 ||
      !AllLikeQ(workload, {&workload.inputs(kK), &workload.inputs(kV), &workload.inputs(kO), &workload.inputs(kGradO),
                           &workload.outputs(0), &workload.outputs(1), &workload.outputs(2)}) ||
      !IsRowStatistic(workload.inputs(kLse), workload.inputs(0))) {
    return absl::InvalidArgumentError(absl::StrCat(
        workload.name(),
        ": builtin attention backward expects inputs Q, K, V, O, dO [B,H,S,D], L [B,H,S] and outputs dQ, dK, "
        "dV [B,H,S,D]; correct the definition"));
  }
  return std::unique_ptr<Reference>(std::make_unique<BackwardReference>(workload, ShapeOf(workload.inputs(0), causal)));
}

}  // namespace sassay::judge
