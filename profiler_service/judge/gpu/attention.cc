#include "profiler_service/judge/gpu/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "common/base/status_macros.h"
#include "common/workload/definition.h"
#include "profiler_service/judge/gpu/operations.h"
#include "profiler_service/judge/reference/reference.h"

namespace sassay::judge::gpu {
namespace {

using sassay::v1::Workload;

// A row of scores that fits is kept in shared memory while it is worked on.
constexpr int64_t kSharedRow = (64 << 10) / sizeof(double);

struct Shape {
  int64_t heads, rows, columns;  // batch and head together, sequence, head dimension
  bool causal;
  double scale() const { return 1 / std::sqrt(static_cast<double>(columns)); }
  int64_t count() const { return heads * rows * columns; }
  // Distance between rows of scores: a multiple of what one load takes.
  int64_t pitch() const { return (rows + 7) / 8 * 8; }
  Triangle triangle(Triangle kind) const { return causal ? kind : Triangle::kNone; }
};

// What is worked on together: some heads with all their rows, or some rows of one head.
struct Block {
  int64_t head, heads, row, rows;
  int64_t scores(const Shape& shape) const { return heads * rows * shape.pitch(); }
};

// The largest block whose matrices of scores, `bytes` for each element in all, fit into the workspace.
Block FirstBlock(const Kernels& kernels, const Shape& shape, int64_t bytes) {
  const int64_t row_bytes = shape.pitch() * bytes, head_bytes = shape.rows * row_bytes;
  const auto budget = static_cast<int64_t>(kernels.workspace_bytes());
  if (head_bytes <= budget) return {0, std::min(shape.heads, budget / head_bytes), 0, shape.rows};
  return {0, 1, 0, std::max(kProductTile, budget / row_bytes / kProductTile * kProductTile)};
}

// Calls body for every block.
template <typename Body>
absl::Status ForBlocks(const Shape& shape, const Block& first, const Body& body) {
  for (int64_t head = 0; head < shape.heads; head += first.heads) {
    for (int64_t row = 0; row < shape.rows; row += first.rows) {
      RETURN_IF_ERROR(
          body(Block{head, std::min(first.heads, shape.heads - head), row, std::min(first.rows, shape.rows - row)}));
    }
  }
  return absl::OkStatus();
}

AttentionRows RowsOf(const Shape& shape, const Block& block) {
  AttentionRows at{};
  at.first_row = block.row;
  at.rows = block.rows;
  at.keys = at.sequence = shape.rows;
  at.pitch = shape.pitch();
  at.scale = shape.scale();
  at.bf16_rms = kBf16Rms;
  at.f32_error = kF32;
  at.causal = shape.causal;
  at.row_in_shared = shape.rows <= kSharedRow;
  return at;
}

Grid GridOf(const Block& block) { return {static_cast<uint64_t>(block.rows), static_cast<uint64_t>(block.heads)}; }

absl::StatusOr<DeviceMemory> Doubles(Kernels& kernels, int64_t count, absl::string_view label) {
  return kernels.Allocate(static_cast<uint64_t>(count) * sizeof(double), label);
}

absl::StatusOr<DeviceMemory> Floats(Kernels& kernels, int64_t count, absl::string_view label) {
  return kernels.Allocate(static_cast<uint64_t>(count) * sizeof(float), label);
}

Tensor Of(const DeviceMemory& memory, Element element) { return {memory.address(), element}; }

// The products of one block. Matrices of scores are [heads, rows, pitch] of the block, [heads, sequence, columns] is
// called tall, [heads, rows, columns] of the block wide.
class BlockProducts {
 public:
  BlockProducts(Kernels& kernels, const Shape& shape, const Block& block)
      : kernels_(kernels), shape_(shape), block_(block) {}

  // The block's part of a tall tensor: all its keys, or its own rows.
  Tensor Keys(const Tensor& tall) const { return Part(tall, 0); }
  Tensor Rows(const Tensor& tall) const { return Part(tall, block_.row); }

  // scores = rows (of a tall tensor) times keys (of another) transposed
  absl::Status Scores(const Tensor& rows, const Tensor& keys, const Tensor& scores) const {
    ProductArguments product =
        ProductOf(block_.rows, shape_.rows, shape_.columns, shape_.triangle(Triangle::kResult), block_.row);
    SetA(product, Rows(rows), shape_.columns, 1, Matrix());
    SetB(product, Keys(keys), 1, shape_.columns, Matrix());
    SetC(product, scores, shape_.pitch(), block_.rows * shape_.pitch());
    return Multiply(kernels_, product, block_.heads);
  }

  // wide = scores times keys. `keys` starts at the block's first head.
  absl::Status OverKeys(const Tensor& scores, const Tensor& keys, const DeviceMemory& wide) const {
    ProductArguments product =
        ProductOf(block_.rows, shape_.columns, shape_.rows, shape_.triangle(Triangle::kRows), block_.row);
    SetA(product, scores, shape_.pitch(), 1, block_.rows * shape_.pitch());
    SetB(product, keys, shape_.columns, 1, Matrix());
    SetC(product, Of(wide, Element::kFloat64), shape_.columns, block_.rows * shape_.columns);
    return Multiply(kernels_, product, block_.heads);
  }

  // tall += scores transposed times rows. `rows` starts at the block's first head and row.
  absl::Status OverRows(const Tensor& scores, const Tensor& rows, const DeviceMemory& tall) const {
    ProductArguments product =
        ProductOf(shape_.rows, shape_.columns, block_.rows, shape_.triangle(Triangle::kDepth), block_.row);
    SetA(product, scores, 1, shape_.pitch(), block_.rows * shape_.pitch());
    SetB(product, rows, shape_.columns, 1, Matrix());
    SetC(product, Of(tall, Element::kFloat64), shape_.columns, Matrix(), block_.row > 0);
    return Multiply(kernels_, product, block_.heads);
  }

  // Writes a wide result to its place in a tall tensor.
  absl::Status Place(const DeviceMemory& wide, const Tensor& tall, double factor, bool root) const {
    return Convert(kernels_, Of(wide, Element::kFloat64), Rows(tall), block_.heads * block_.rows * shape_.columns,
                   factor, root);
  }

  // The squares of the block's part of a tall tensor, in fp32; `memory` holds as many heads.
  absl::Status Square(const Tensor& tall, const DeviceMemory& memory) const {
    const int64_t count = block_.heads * Matrix();
    const Tensor part = Keys(tall);
    return kernels_.Walk("sassay_square", static_cast<uint64_t>(count),
                         SquareArguments{part.address, 0, memory.address(), count, shape_.columns, part.element});
  }

  // Where the block's first row is in a tensor of squares that starts at the block's first head.
  Tensor RowsOfSquares(const DeviceMemory& squares) const {
    return {squares.address() + static_cast<uint64_t>(block_.row * shape_.columns) * sizeof(float), Element::kFloat32};
  }

  // Where the block's first head is in [heads, sequence] and in [heads].
  uint64_t RowStatistic(device::DeviceAddress of, uint64_t width) const {
    return of + static_cast<uint64_t>(block_.head * shape_.rows) * width;
  }
  uint64_t HeadStatistic(const DeviceMemory& of) const {
    return of.address() + static_cast<uint64_t>(block_.head) * sizeof(double);
  }

 private:
  int64_t Matrix() const { return shape_.rows * shape_.columns; }
  Tensor Part(const Tensor& tall, int64_t row) const {
    return {At(tall, (block_.head * shape_.rows + row) * shape_.columns), tall.element};
  }

  Kernels& kernels_;
  const Shape& shape_;
  const Block& block_;
};

// ---- forward ----

// Where the forward pass puts its results. O may have any type; an address of 0 stands for what nobody wants.
struct ForwardResults {
  Tensor o;
  device::DeviceAddress o_noise = 0;    // fp32
  device::DeviceAddress lse = 0;        // fp64
  device::DeviceAddress lse_noise = 0;  // fp32
};

class ForwardPass {
 public:
  ForwardPass(Kernels& kernels, const Shape& shape, const Tensor& q, const Tensor& k, const Tensor& v)
      : kernels_(kernels), shape_(shape), q_(q), k_(k), v_(v) {}

  absl::Status Run(const ForwardResults& results) {
    const bool noise = results.o_noise != 0;
    const Block first = FirstBlock(kernels_, shape_, noise ? sizeof(double) + sizeof(float) : sizeof(double));
    RETURN_IF_ERROR(Allocate(first, noise));
    RETURN_IF_ERROR(ForBlocks(shape_, first, [&](const Block& block) { return Do(block, results); }));
    return kernels_.Finish();
  }

 private:
  absl::Status Allocate(const Block& first, bool noise) {
    ASSIGN_OR_RETURN(q_norms_, RowNorms(kernels_, q_, shape_.heads * shape_.rows, shape_.columns));
    ASSIGN_OR_RETURN(k_norms_, RowNorms(kernels_, k_, shape_.heads * shape_.rows, shape_.columns));
    ASSIGN_OR_RETURN(largest_key_, Largest(kernels_, k_norms_, shape_.heads, shape_.rows));
    ASSIGN_OR_RETURN(scores_, Doubles(kernels_, first.scores(shape_), "scores"));
    ASSIGN_OR_RETURN(wide_, Doubles(kernels_, first.heads * first.rows * shape_.columns, "rows of O"));
    if (!noise) return absl::OkStatus();
    ASSIGN_OR_RETURN(squares_, Floats(kernels_, first.scores(shape_), "squared errors of P"));
    ASSIGN_OR_RETURN(v_squares_, Floats(kernels_, first.heads * shape_.rows * shape_.columns, "squares of V"));
    return absl::OkStatus();
  }

  absl::Status Do(const Block& block, const ForwardResults& results) {
    const BlockProducts products(kernels_, shape_, block);
    const Tensor scores = Of(scores_, Element::kFloat64);
    RETURN_IF_ERROR(products.Scores(q_, k_, scores));
    RETURN_IF_ERROR(Softmax(block, products, results));
    RETURN_IF_ERROR(products.OverKeys(scores, products.Keys(v_), wide_));
    RETURN_IF_ERROR(products.Place(wide_, results.o, 1, false));
    if (results.o_noise == 0) return absl::OkStatus();
    RETURN_IF_ERROR(products.Square(v_, v_squares_));
    RETURN_IF_ERROR(products.OverKeys(Of(squares_, Element::kFloat32), Of(v_squares_, Element::kFloat32), wide_));
    return products.Place(wide_, {results.o_noise, Element::kFloat32}, 1, true);
  }

  absl::Status Softmax(const Block& block, const BlockProducts& products, const ForwardResults& results) {
    SoftmaxArguments arguments{};
    arguments.at = RowsOf(shape_, block);
    arguments.scores = scores_.address();
    arguments.squares = results.o_noise == 0 ? 0 : squares_.address();
    arguments.lse = products.RowStatistic(results.lse, sizeof(double));
    arguments.lse_noise = results.lse_noise == 0 ? 0 : products.RowStatistic(results.lse_noise, sizeof(float));
    arguments.q_norms = products.RowStatistic(q_norms_.address(), sizeof(double));
    arguments.key_norms = products.HeadStatistic(largest_key_);
    const auto shared = arguments.at.row_in_shared ? static_cast<uint32_t>(shape_.rows * sizeof(double)) : 0;
    return kernels_.Launch("sassay_softmax", GridOf(block), arguments, shared);
  }

  Kernels& kernels_;
  const Shape& shape_;
  const Tensor q_, k_, v_;
  DeviceMemory q_norms_, k_norms_, largest_key_, scores_, squares_, v_squares_, wide_;
};

class ForwardReference : public Reference {
 public:
  ForwardReference(const Shape& shape, Element o) : shape_(shape), o_(o) {}

  absl::StatusOr<std::vector<ExpectedOutput>> Compute(Kernels& kernels,
                                                      const std::vector<Tensor>& inputs) const override {
    std::array<Operand, 3> operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      ASSIGN_OR_RETURN(operands[i], OperandOf(kernels, inputs[i], shape_.count()));
    }
    std::vector<ExpectedOutput> expected(2);
    ExpectedOutput &o = expected[0], &lse = expected[1];
    o.values_element = ValuesElement(o_);
    const auto count = static_cast<uint64_t>(shape_.count());
    ASSIGN_OR_RETURN(o.values, kernels.Allocate(count * WidthOf(o.values_element), "reference O"));
    ASSIGN_OR_RETURN(o.noise, Floats(kernels, shape_.count(), "noise of O"));
    ASSIGN_OR_RETURN(lse.values, Doubles(kernels, shape_.heads * shape_.rows, "reference LSE"));
    ASSIGN_OR_RETURN(lse.noise, Floats(kernels, shape_.heads * shape_.rows, "noise of LSE"));
    ForwardPass pass(kernels, shape_, operands[0].tensor, operands[1].tensor, operands[2].tensor);
    RETURN_IF_ERROR(
        pass.Run({Of(o.values, o.values_element), o.noise.address(), lse.values.address(), lse.noise.address()}));
    return expected;
  }

 private:
  const Shape shape_;
  const Element o_;
};

// ---- backward ----

enum BackwardInput { kQ, kK, kV, kO, kGradO, kLse, kBackwardInputs };
enum BackwardOutput { kDQ, kDK, kDV, kBackwardOutputs };

class BackwardPass {
 public:
  BackwardPass(Kernels& kernels, const Shape& shape, const std::array<Tensor, kBackwardInputs>& inputs)
      : kernels_(kernels), shape_(shape), in_(inputs) {}

  // Values and noise (fp32) of the three outputs.
  absl::Status Run(const std::array<Tensor, kBackwardOutputs>& values,
                   const std::array<Tensor, kBackwardOutputs>& noise) {
    const Block first = FirstBlock(kernels_, shape_, 2 * sizeof(double) + 2 * sizeof(float));
    RETURN_IF_ERROR(Norms());
    RETURN_IF_ERROR(Allocate(first));
    RETURN_IF_ERROR(ForBlocks(shape_, first, [&](const Block& block) { return Do(block, values, noise); }));
    return kernels_.Finish();
  }

 private:
  absl::Status Norms() {
    for (int input : {kQ, kK, kV, kO, kGradO}) {
      ASSIGN_OR_RETURN(norms_[input], RowNorms(kernels_, in_[input], shape_.heads * shape_.rows, shape_.columns));
    }
    ASSIGN_OR_RETURN(largest_key_, Largest(kernels_, norms_[kK], shape_.heads, shape_.rows));
    ASSIGN_OR_RETURN(largest_value_, Largest(kernels_, norms_[kV], shape_.heads, shape_.rows));
    return absl::OkStatus();
  }

  absl::Status Allocate(const Block& first) {
    const int64_t tall = first.heads * shape_.rows * shape_.columns;
    for (DeviceMemory* matrix : {&p_, &ds_}) {
      ASSIGN_OR_RETURN(*matrix, Doubles(kernels_, first.scores(shape_), "scores"));
    }
    for (DeviceMemory* matrix : {&p_squares_, &ds_squares_}) {
      ASSIGN_OR_RETURN(*matrix, Floats(kernels_, first.scores(shape_), "squared errors of scores"));
    }
    for (DeviceMemory* matrix : {&q_squares_, &k_squares_, &grad_o_squares_}) {
      ASSIGN_OR_RETURN(*matrix, Floats(kernels_, tall, "squares of inputs"));
    }
    for (DeviceMemory* matrix : {&wide_, &dk_, &dv_, &dk_noise_, &dv_noise_}) {
      ASSIGN_OR_RETURN(*matrix, Doubles(kernels_, tall, "gradients"));
    }
    return absl::OkStatus();
  }

  absl::Status Do(const Block& block, const std::array<Tensor, kBackwardOutputs>& values,
                  const std::array<Tensor, kBackwardOutputs>& noise) {
    const BlockProducts products(kernels_, shape_, block);
    const Tensor p = Of(p_, Element::kFloat64), ds = Of(ds_, Element::kFloat64);
    const Tensor p_squares = Of(p_squares_, Element::kFloat32), ds_squares = Of(ds_squares_, Element::kFloat32);
    RETURN_IF_ERROR(products.Scores(in_[kQ], in_[kK], p));
    RETURN_IF_ERROR(products.Scores(in_[kGradO], in_[kV], ds));
    RETURN_IF_ERROR(Rows(block, products));
    if (block.row == 0) RETURN_IF_ERROR(SquareInputs(products));
    RETURN_IF_ERROR(products.OverKeys(ds, products.Keys(in_[kK]), wide_));
    RETURN_IF_ERROR(products.Place(wide_, values[kDQ], shape_.scale(), false));
    RETURN_IF_ERROR(products.OverKeys(ds_squares, Of(k_squares_, Element::kFloat32), wide_));
    RETURN_IF_ERROR(products.Place(wide_, noise[kDQ], shape_.scale(), true));
    RETURN_IF_ERROR(products.OverRows(ds, products.Rows(in_[kQ]), dk_));
    RETURN_IF_ERROR(products.OverRows(ds_squares, products.RowsOfSquares(q_squares_), dk_noise_));
    RETURN_IF_ERROR(products.OverRows(p, products.Rows(in_[kGradO]), dv_));
    RETURN_IF_ERROR(products.OverRows(p_squares, products.RowsOfSquares(grad_o_squares_), dv_noise_));
    if (block.row + block.rows < shape_.rows) return absl::OkStatus();
    return PlaceSums(block, values, noise);
  }

  absl::Status SquareInputs(const BlockProducts& products) {
    RETURN_IF_ERROR(products.Square(in_[kQ], q_squares_));
    RETURN_IF_ERROR(products.Square(in_[kK], k_squares_));
    return products.Square(in_[kGradO], grad_o_squares_);
  }

  // dK and dV are sums over all rows of a head.
  absl::Status PlaceSums(const Block& last, const std::array<Tensor, kBackwardOutputs>& values,
                         const std::array<Tensor, kBackwardOutputs>& noise) {
    const Block whole{last.head, last.heads, 0, shape_.rows};
    const BlockProducts products(kernels_, shape_, whole);
    RETURN_IF_ERROR(products.Place(dk_, values[kDK], shape_.scale(), false));
    RETURN_IF_ERROR(products.Place(dk_noise_, noise[kDK], shape_.scale(), true));
    RETURN_IF_ERROR(products.Place(dv_, values[kDV], 1, false));
    return products.Place(dv_noise_, noise[kDV], 1, true);
  }

  absl::Status Rows(const Block& block, const BlockProducts& products) {
    BackwardRowsArguments arguments{};
    arguments.at = RowsOf(shape_, block);
    arguments.scores = p_.address();
    arguments.gradients = ds_.address();
    arguments.p_squares = p_squares_.address();
    arguments.ds_squares = ds_squares_.address();
    arguments.o = products.Keys(in_[kO]).address;
    arguments.grad_o = products.Keys(in_[kGradO]).address;
    arguments.lse = products.RowStatistic(in_[kLse].address, WidthOf(in_[kLse].element));
    arguments.q_norms = products.RowStatistic(norms_[kQ].address(), sizeof(double));
    arguments.o_norms = products.RowStatistic(norms_[kO].address(), sizeof(double));
    arguments.grad_o_norms = products.RowStatistic(norms_[kGradO].address(), sizeof(double));
    arguments.largest_key = products.HeadStatistic(largest_key_);
    arguments.largest_value = products.HeadStatistic(largest_value_);
    arguments.columns = shape_.columns;
    arguments.o_element = in_[kO].element;
    arguments.grad_o_element = in_[kGradO].element;
    arguments.lse_element = in_[kLse].element;
    return kernels_.Launch("sassay_backward_rows", GridOf(block), arguments);
  }

  Kernels& kernels_;
  const Shape& shape_;
  const std::array<Tensor, kBackwardInputs> in_;
  std::array<DeviceMemory, kBackwardInputs> norms_;
  DeviceMemory largest_key_, largest_value_;
  DeviceMemory p_, ds_, p_squares_, ds_squares_, q_squares_, k_squares_, grad_o_squares_;
  DeviceMemory wide_, dk_, dv_, dk_noise_, dv_noise_;
};

class BackwardReference : public Reference {
 public:
  BackwardReference(const Shape& shape, std::array<Element, kBackwardOutputs> outputs)
      : shape_(shape), outputs_(outputs) {}

  absl::Status Complete(Kernels& kernels, const std::vector<Tensor>& inputs) const override {
    std::array<Operand, 3> operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      ASSIGN_OR_RETURN(operands[i], OperandOf(kernels, inputs[i], shape_.count()));
    }
    ASSIGN_OR_RETURN(const DeviceMemory lse, Doubles(kernels, shape_.heads * shape_.rows, "LSE"));
    ForwardPass pass(kernels, shape_, operands[0].tensor, operands[1].tensor, operands[2].tensor);
    RETURN_IF_ERROR(pass.Run({inputs[kO], 0, lse.address(), 0}));
    RETURN_IF_ERROR(Convert(kernels, Of(lse, Element::kFloat64), inputs[kLse], shape_.heads * shape_.rows));
    return kernels.Finish();
  }

  absl::StatusOr<std::vector<ExpectedOutput>> Compute(Kernels& kernels,
                                                      const std::vector<Tensor>& inputs) const override {
    std::array<Operand, kBackwardInputs> operands;
    std::array<Tensor, kBackwardInputs> tensors;
    for (int i = 0; i < kBackwardInputs; ++i) {
      operands[i].tensor = inputs[i];
      if (i != kLse) {
        ASSIGN_OR_RETURN(operands[i], OperandOf(kernels, inputs[i], shape_.count()));
      }
      tensors[i] = operands[i].tensor;
    }
    std::vector<ExpectedOutput> expected(kBackwardOutputs);
    std::array<Tensor, kBackwardOutputs> values, noise;
    for (int i = 0; i < kBackwardOutputs; ++i) {
      expected[i].values_element = ValuesElement(outputs_[i]);
      const uint64_t bytes = static_cast<uint64_t>(shape_.count()) * WidthOf(expected[i].values_element);
      ASSIGN_OR_RETURN(expected[i].values, kernels.Allocate(bytes, "reference gradient"));
      ASSIGN_OR_RETURN(expected[i].noise, Floats(kernels, shape_.count(), "noise of a gradient"));
      values[i] = Of(expected[i].values, expected[i].values_element);
      noise[i] = Of(expected[i].noise, Element::kFloat32);
    }
    BackwardPass pass(kernels, shape_, tensors);
    RETURN_IF_ERROR(pass.Run(values, noise));
    return expected;
  }

 private:
  const Shape shape_;
  const std::array<Element, kBackwardOutputs> outputs_;
};

Shape ShapeOf(const Workload& workload, bool causal) {
  const sassay::v1::TensorSpec& q = workload.inputs(0);
  return {q.shape(0) * q.shape(1), q.shape(2), q.shape(3), causal};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Reference>> MakeAttentionForward(const Workload& workload, bool causal) {
  ASSIGN_OR_RETURN(const Element o, ElementOf(workload.outputs(0).dtype()));
  return std::unique_ptr<Reference>(std::make_unique<ForwardReference>(ShapeOf(workload, causal), o));
}

absl::StatusOr<std::unique_ptr<Reference>> MakeAttentionBackward(const Workload& workload, bool causal) {
  std::array<Element, kBackwardOutputs> outputs;
  for (int i = 0; i < kBackwardOutputs; ++i) {
    ASSIGN_OR_RETURN(outputs[i], ElementOf(workload.outputs(i).dtype()));
  }
  return std::unique_ptr<Reference>(std::make_unique<BackwardReference>(ShapeOf(workload, causal), outputs));
}

}  // namespace sassay::judge::gpu
