// Two duties: the references are right (against plain loops), and the rule accepts every honest kernel and rejects
// every cheat, for each operator that ships, at tiny axes.
#include "profiler_service/judge/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "profiler_service/judge/inputs/inputs.h"
#include "profiler_service/judge/numerics/element.h"

namespace sassay::judge {
namespace {

using sassay::v1::DTYPE_BFLOAT16;
using sassay::v1::DTYPE_FLOAT32;
using sassay::v1::Workload;
using testing::HasSubstr;

constexpr Distribution kJudged[] = {Distribution::kNormal,   Distribution::kUniform, Distribution::kOutliers,
                                    Distribution::kIntegers, Distribution::kSmall,   Distribution::kStructured};

void AddTensor(google::protobuf::RepeatedPtrField<sassay::v1::TensorSpec>* list, const char* name,
               std::vector<int64_t> shape, sassay::v1::DType dtype = DTYPE_BFLOAT16) {
  sassay::v1::TensorSpec* tensor = list->Add();
  tensor->set_name(name);
  tensor->set_dtype(dtype);
  for (int64_t extent : shape) tensor->add_shape(extent);
}

Workload Gemm(int64_t m, int64_t n, int64_t k) {
  Workload workload;
  workload.set_name("gemm");
  workload.set_reference("builtin:gemm");
  AddTensor(workload.mutable_inputs(), "A", {m, k});
  AddTensor(workload.mutable_inputs(), "B", {n, k});
  AddTensor(workload.mutable_outputs(), "C", {m, n});
  return workload;
}

struct AttentionShape {
  int64_t heads, rows, columns;
  bool causal;
};

Workload AttentionForward(const AttentionShape& shape) {
  Workload workload;
  workload.set_name("mha");
  workload.set_reference(shape.causal ? "builtin:mha_forward_causal" : "builtin:mha_forward");
  const std::vector<int64_t> full = {1, shape.heads, shape.rows, shape.columns};
  for (const char* name : {"Q", "K", "V"}) AddTensor(workload.mutable_inputs(), name, full);
  AddTensor(workload.mutable_outputs(), "O", full);
  AddTensor(workload.mutable_outputs(), "LSE", {1, shape.heads, shape.rows}, DTYPE_FLOAT32);
  return workload;
}

Workload AttentionBackward(const AttentionShape& shape) {
  Workload workload;
  workload.set_name("mha_bwd");
  workload.set_reference(shape.causal ? "builtin:mha_backward_causal" : "builtin:mha_backward");
  const std::vector<int64_t> full = {1, shape.heads, shape.rows, shape.columns};
  for (const char* name : {"Q", "K", "V", "O", "dO"}) AddTensor(workload.mutable_inputs(), name, full);
  AddTensor(workload.mutable_inputs(), "L", {1, shape.heads, shape.rows}, DTYPE_FLOAT32);
  for (const char* name : {"dQ", "dK", "dV"}) AddTensor(workload.mutable_outputs(), name, full);
  return workload;
}

float Bf16(float value) { return static_cast<float>(RoundTo(DTYPE_BFLOAT16, value)); }
float Same(float value) { return value; }

// ---- kernels as people write them, in f32 ----

using Rounding = float (*)(float);
using Outputs = std::vector<std::vector<double>>;

struct Style {
  Rounding accumulate = Same;    // what a running sum is kept in
  Rounding probability = Same;   // what P (and dS) is kept in before the second product
  Rounding scaled_query = Same;  // what Q * scale is kept in
  float scale_factor = 1;        // error: a wrong scale
  bool causal_flip = false;      // error: the mask is forgotten or invented
  int64_t k_slices = 1;          // split-K, partial sums kept in `partial`
  Rounding partial = Same;
};

std::vector<std::vector<float>> Floats(const Workload& workload, const std::vector<std::string>& inputs) {
  std::vector<std::vector<float>> result;
  for (int i = 0; i < workload.inputs_size(); ++i)
    result.push_back(DecodeFloats(workload.inputs(i).dtype(), inputs[i]));
  return result;
}

Outputs RunGemm(const Workload& workload, const std::vector<std::string>& inputs, const Style& style) {
  const auto tensors = Floats(workload, inputs);
  const int64_t m = workload.inputs(0).shape(0), n = workload.inputs(1).shape(0), k = workload.inputs(0).shape(1);
  std::vector<double> c(m * n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float total = 0;
      for (int64_t slice = 0; slice < style.k_slices; ++slice) {
        float sum = 0;
        for (int64_t at = slice * k / style.k_slices; at < (slice + 1) * k / style.k_slices; ++at) {
          sum = style.accumulate(sum + tensors[0][i * k + at] * tensors[1][j * k + at]);
        }
        total += style.partial(sum);
      }
      c[i * n + j] = total;
    }
  }
  return {c};
}

float Dot(const float* a, const float* b, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

bool Masked(const AttentionShape& shape, const Style& style, int64_t row, int64_t key) {
  return (shape.causal != style.causal_flip) && key > row;
}

// A row of scores, scaled and masked.
std::vector<float> ScoreRow(const AttentionShape& shape, const Style& style, const float* q, const float* k,
                            int64_t row) {
  const float scale = style.scale_factor / std::sqrt(static_cast<float>(shape.columns));
  std::vector<float> query(shape.columns), scores(shape.rows);
  for (int64_t d = 0; d < shape.columns; ++d) query[d] = style.scaled_query(q[row * shape.columns + d] * scale);
  for (int64_t j = 0; j < shape.rows; ++j) {
    scores[j] = Masked(shape, style, row, j) ? -HUGE_VALF : Dot(query.data(), k + j * shape.columns, shape.columns);
  }
  return scores;
}

Outputs RunForward(const AttentionShape& shape, const Workload& workload, const std::vector<std::string>& inputs,
                   const Style& style) {
  const auto tensors = Floats(workload, inputs);
  std::vector<double> output(tensors[0].size()), lse(shape.heads * shape.rows);
  for (int64_t head = 0; head < shape.heads; ++head) {
    const int64_t at = head * shape.rows * shape.columns;
    for (int64_t row = 0; row < shape.rows; ++row) {
      std::vector<float> p = ScoreRow(shape, style, &tensors[0][at], &tensors[1][at], row);
      const float top = *std::max_element(p.begin(), p.end());
      float sum = 0;
      for (float& value : p) sum += value = std::exp(value - top);
      for (int64_t d = 0; d < shape.columns; ++d) {
        float total = 0;
        for (int64_t j = 0; j < shape.rows; ++j) {
          total = style.accumulate(total + style.probability(p[j]) * tensors[2][at + j * shape.columns + d]);
        }
        output[at + row * shape.columns + d] = total / sum;
      }
      lse[head * shape.rows + row] = top + std::log(sum);
    }
  }
  return {output, lse};
}

Outputs RunBackward(const AttentionShape& shape, const Workload& workload, const std::vector<std::string>& inputs,
                    const Style& style) {
  const auto t = Floats(workload, inputs);
  const int64_t columns = shape.columns;
  const float scale = style.scale_factor / std::sqrt(static_cast<float>(columns));
  std::vector<float> dq(t[0].size()), dk(t[0].size()), dv(t[0].size());
  for (int64_t head = 0; head < shape.heads; ++head) {
    const int64_t at = head * shape.rows * columns;
    for (int64_t row = 0; row < shape.rows; ++row) {
      const std::vector<float> scores = ScoreRow(shape, style, &t[0][at], &t[1][at], row);
      const float* grad = &t[4][at + row * columns];
      const float delta = Dot(&t[3][at + row * columns], grad, columns);
      for (int64_t j = 0; j < shape.rows; ++j) {
        const float p = std::exp(scores[j] - t[5][head * shape.rows + row]);
        const float ds = style.probability(p * (Dot(grad, &t[2][at + j * columns], columns) - delta));
        for (int64_t d = 0; d < columns; ++d) {
          const int64_t key = at + j * columns + d, query = at + row * columns + d;
          dq[query] = style.accumulate(dq[query] + scale * ds * t[1][key]);
          dk[key] = style.accumulate(dk[key] + scale * ds * t[0][query]);
          dv[key] = style.accumulate(dv[key] + style.probability(p) * grad[d]);
        }
      }
    }
  }
  return {{dq.begin(), dq.end()}, {dk.begin(), dk.end()}, {dv.begin(), dv.end()}};
}

// ---- judging them ----

// A workload with inputs and its reference's answer.
struct Case {
  Workload workload;
  std::vector<std::string> inputs;
  std::vector<Expected> expected;

  Case(const Workload& what, Distribution distribution, uint64_t seed = 11) : workload(what) {
    const auto reference = MakeReference(workload);
    EXPECT_TRUE(reference.ok()) << reference.status();
    for (int i = 0; i < workload.inputs_size(); ++i) {
      inputs.push_back(GenerateTensor(workload.inputs(i), seed, i, distribution, 2));
    }
    EXPECT_TRUE((*reference)->Complete(inputs, 2).ok());
    expected = *(*reference)->Compute(inputs, 2);
  }

  Compared CompareOne(int output, const std::vector<double>& values) const {
    const sassay::v1::TensorSpec& spec = workload.outputs(output);
    return CompareOutput(spec, expected[output], EncodeDoubles(spec.dtype(), values), "");
  }

  // How an output's error compares with the allowance; words for the log.
  std::string Explain(const Outputs& outputs) const {
    std::string words;
    for (int i = 0; i < workload.outputs_size(); ++i)
      words += CompareOne(i, outputs[i]).report.ShortDebugString() + "\n";
    return words;
  }

  bool Accepts(const Outputs& outputs) const {
    for (int i = 0; i < workload.outputs_size(); ++i) {
      if (!CompareOne(i, outputs[i]).passed) return false;
    }
    return true;
  }
};

struct Operator {
  const char* name;
  Workload workload;
  std::function<Outputs(const Case&, const Style&)> run;
};

Operator AttentionOperator(const char* name, const AttentionShape& shape, bool backward) {
  const auto run = [shape, backward](const Case& c, const Style& style) {
    return backward ? RunBackward(shape, c.workload, c.inputs, style) : RunForward(shape, c.workload, c.inputs, style);
  };
  return {name, backward ? AttentionBackward(shape) : AttentionForward(shape), run};
}

std::vector<Operator> Operators() {
  return {{"gemm", Gemm(64, 96, 256), [](const Case& c, const Style& s) { return RunGemm(c.workload, c.inputs, s); }},
          AttentionOperator("forward", {2, 128, 64, false}, false),
          AttentionOperator("forward_causal", {2, 128, 64, true}, false),
          AttentionOperator("forward_d128", {2, 96, 128, false}, false),
          AttentionOperator("backward", {2, 128, 64, false}, true),
          AttentionOperator("backward_causal", {2, 128, 64, true}, true),
          AttentionOperator("backward_d128", {2, 96, 128, true}, true)};
}

class Rule : public testing::TestWithParam<Operator> {
 protected:
  bool IsGemm() const { return std::string(GetParam().name) == "gemm"; }

  void ExpectAccepted(const Style& style) {
    for (Distribution distribution : kJudged) {
      const Case c(GetParam().workload, distribution);
      const Outputs outputs = GetParam().run(c, style);
      EXPECT_TRUE(c.Accepts(outputs)) << "distribution " << static_cast<int>(distribution) << "\n"
                                      << c.Explain(outputs);
    }
  }
  void ExpectRejected(const std::function<Outputs(const Case&)>& kernel,
                      Distribution distribution = Distribution::kNormal) {
    const Case c(GetParam().workload, distribution);
    const Outputs outputs = kernel(c);
    EXPECT_FALSE(c.Accepts(outputs)) << c.Explain(outputs);
  }
  void ExpectRejected(const Style& style) {
    ExpectRejected([&](const Case& c) { return GetParam().run(c, style); });
  }
};

TEST_P(Rule, AcceptsNaiveKernels) { ExpectAccepted({}); }

TEST_P(Rule, AcceptsProbabilitiesInBf16) {
  Style style;
  style.probability = Bf16;
  ExpectAccepted(style);
}

TEST_P(Rule, AcceptsSplitKAlsoWithBf16Partials) {
  if (!IsGemm()) GTEST_SKIP() << "split-K is a GEMM's";
  Style style;
  style.k_slices = 4;
  ExpectAccepted(style);
}

TEST_P(Rule, RejectsSumsKeptInBf16) {
  Style style;
  style.accumulate = Bf16;
  ExpectRejected(style);
}

TEST_P(Rule, RejectsAMissingScaleAndAWrongMask) {
  if (IsGemm()) GTEST_SKIP() << "a GEMM has neither";
  Style scale, mask;
  scale.scale_factor = std::sqrt(64.0f);
  mask.causal_flip = true;
  ExpectRejected(scale);
  ExpectRejected(mask);
}

TEST_P(Rule, RejectsZerosConstantsAndCopiesOfEachInput) {
  const auto filled = [](const Case& c, double value) {
    Outputs outputs;
    for (const Expected& expected : c.expected) outputs.emplace_back(expected.values.size(), value);
    return outputs;
  };
  for (Distribution distribution : kJudged) {
    for (double value : {0.0, 1.0, 0.01}) ExpectRejected([&](const Case& c) { return filled(c, value); }, distribution);
    for (int input = 0; input < GetParam().workload.inputs_size(); ++input) {
      ExpectRejected(
          [&](const Case& c) {
            const std::vector<double> copy = DecodeDoubles(c.workload.inputs(input).dtype(), c.inputs[input]);
            Outputs outputs = filled(c, 0);
            for (auto& output : outputs) {
              for (size_t i = 0; i < output.size(); ++i) output[i] = copy[i % copy.size()];
            }
            return outputs;
          },
          distribution);
    }
  }
}

TEST_P(Rule, RejectsASkippedLastTileAndSaysWhere) {
  const Case c(GetParam().workload, Distribution::kNormal);
  Outputs outputs = GetParam().run(c, {});
  const sassay::v1::TensorSpec& spec = c.workload.outputs(0);
  const int rank = spec.shape_size();
  const int64_t rows = spec.shape(rank - 2), columns = spec.shape(rank - 1), first = rows - 16;
  for (size_t i = 0; i < outputs[0].size(); ++i) {
    if (static_cast<int64_t>(i) / columns % rows >= first) outputs[0][i] = 0;
  }
  const Compared compared = c.CompareOne(0, outputs[0]);
  EXPECT_FALSE(compared.passed);
  EXPECT_THAT(compared.report.pattern(), HasSubstr("row >= " + std::to_string(first)));
}

TEST_P(Rule, RejectsEachOutputTransposed) {
  const Case c(GetParam().workload, Distribution::kNormal);
  const Outputs right = GetParam().run(c, {});
  for (int output = 0; output < c.workload.outputs_size(); ++output) {
    const auto& shape = c.workload.outputs(output).shape();
    const int64_t columns = shape[shape.size() - 1], rows = shape[shape.size() - 2];
    std::vector<double> wrong(right[output].size());
    for (size_t i = 0; i < wrong.size(); ++i) {
      const int64_t base = i / (rows * columns) * (rows * columns), at = i % (rows * columns);
      wrong[i] = right[output][base + at % rows * columns + at / rows];
    }
    EXPECT_FALSE(c.CompareOne(output, wrong).passed) << output;
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, Rule, testing::ValuesIn(Operators()),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- the references themselves ----

TEST(GemmReference, IsExactOnWholeNumbers) {
  const Case c(Gemm(33, 17, 600), Distribution::kIntegers);
  EXPECT_EQ(c.expected[0].values, RunGemm(c.workload, c.inputs, {})[0]);
}

TEST(AttentionReference, FirstCausalRowSeesOnlyItsOwnKey) {
  const Case c(AttentionForward({1, 8, 4, true}), Distribution::kNormal);
  const std::vector<double> v = DecodeDoubles(DTYPE_BFLOAT16, c.inputs[2]);
  for (int d = 0; d < 4; ++d) EXPECT_DOUBLE_EQ(c.expected[0].values[d], v[d]);
}

// Finite differences of sum(O * dO) with O in fp64 agree with the analytic gradient. O and L as inputs are rounded, so
// the agreement is to bf16.
TEST(AttentionReference, BackwardIsTheGradientOfForward) {
  const AttentionShape shape{1, 16, 8, true};
  const Case backward(AttentionBackward(shape), Distribution::kNormal);
  const Workload forward = AttentionForward(shape);
  const auto reference = *MakeReference(forward);
  const std::vector<double> grad = DecodeDoubles(DTYPE_BFLOAT16, backward.inputs[4]);
  const auto loss = [&](const std::vector<std::string>& inputs) {
    const std::vector<double> output = (*reference->Compute(inputs, 1))[0].values;
    double sum = 0;
    for (size_t i = 0; i < output.size(); ++i) sum += output[i] * grad[i];
    return sum;
  };
  for (int tensor = 0; tensor < 3; ++tensor) {
    for (int element : {0, 37, 100, 127}) {
      std::vector<std::string> high(backward.inputs.begin(), backward.inputs.begin() + 3), low = high;
      const double value = LoadElement(DTYPE_BFLOAT16, &high[tensor][element * 2]), step = std::fabs(value) / 16 + 1e-3;
      StoreElement(DTYPE_BFLOAT16, value + step, &high[tensor][element * 2]);
      StoreElement(DTYPE_BFLOAT16, value - step, &low[tensor][element * 2]);
      const double distance = LoadElement(DTYPE_BFLOAT16, &high[tensor][element * 2]) -
                              LoadElement(DTYPE_BFLOAT16, &low[tensor][element * 2]);
      EXPECT_NEAR((loss(high) - loss(low)) / distance, backward.expected[tensor].values[element], 0.03)
          << tensor << " " << element;
    }
  }
}

TEST(AttentionReference, DoesNotDependOnTheNumberOfThreads) {
  const Case c(AttentionBackward({3, 100, 16, true}), Distribution::kNormal);
  const auto reference = *MakeReference(c.workload);
  const auto one = *reference->Compute(c.inputs, 1), four = *reference->Compute(c.inputs, 4);
  for (int output = 0; output < 3; ++output) EXPECT_EQ(one[output].values, four[output].values);
}

TEST(Reference, RefusesShapesThatDoNotFit) {
  Workload workload = Gemm(4, 4, 4);
  workload.mutable_inputs(1)->set_shape(1, 5);
  EXPECT_THAT(std::string(MakeReference(workload).status().message()), HasSubstr("expects inputs A[M,K] and B[N,K]"));
  workload.set_reference("builtin:conv");
  EXPECT_EQ(MakeReference(workload).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sassay::judge
