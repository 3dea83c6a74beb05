#include "profiler_service/judge/gpu/operations.h"

#include "common/base/status_macros.h"

namespace sassay::judge::gpu {

absl::StatusOr<Operand> OperandOf(Kernels& kernels, const Tensor& tensor, int64_t count) {
  Operand operand;
  operand.tensor = tensor;
  const Element element = tensor.element;
  if (element == Element::kFloat64 || element == Element::kFloat32 || element == Element::kBfloat16) return operand;
  const bool exact_in_single = element != Element::kInt64 && element != Element::kInt32;
  operand.tensor.element = exact_in_single ? Element::kFloat32 : Element::kFloat64;
  ASSIGN_OR_RETURN(operand.copy,
                   kernels.Allocate(static_cast<uint64_t>(count) * WidthOf(operand.tensor.element), "decoded operand"));
  operand.tensor.address = operand.copy.address();
  RETURN_IF_ERROR(Convert(kernels, tensor, operand.tensor, count));
  return operand;
}

ProductArguments ProductOf(int64_t m, int64_t n, int64_t k, Triangle triangle, int64_t first_row) {
  ProductArguments product{};
  product.m = m;
  product.n = n;
  product.k = k;
  product.triangle = triangle;
  product.first_row = first_row;
  return product;
}

void SetA(ProductArguments& product, const Tensor& a, int64_t row, int64_t depth, int64_t batch) {
  product.a = a.address;
  product.a_element = a.element;
  product.a_row = row;
  product.a_depth = depth;
  product.a_batch = batch;
}

void SetB(ProductArguments& product, const Tensor& b, int64_t depth, int64_t column, int64_t batch) {
  product.b = b.address;
  product.b_element = b.element;
  product.b_depth = depth;
  product.b_column = column;
  product.b_batch = batch;
}

void SetC(ProductArguments& product, const Tensor& c, int64_t row, int64_t batch, bool accumulate) {
  product.c = c.address;
  product.c_element = c.element;
  product.c_row = row;
  product.c_batch = batch;
  product.accumulate = accumulate;
}

absl::Status Multiply(Kernels& kernels, const ProductArguments& product, int64_t batches) {
  const auto tiles = [](int64_t extent) { return static_cast<uint64_t>((extent + kProductTile - 1) / kProductTile); };
  if (product.m == 0 || product.n == 0 || batches == 0) return absl::OkStatus();
  return kernels.Launch("sassay_product", {tiles(product.n), tiles(product.m), static_cast<uint64_t>(batches)}, product,
                        kProductSharedBytes);
}

absl::Status Convert(Kernels& kernels, const Tensor& from, const Tensor& to, int64_t count, double factor, bool root) {
  const auto elements = static_cast<uint64_t>(count);
  return kernels.Walk("sassay_convert", elements,
                      ConvertArguments{from.address, to.address, elements, factor, from.element, to.element, root});
}

absl::StatusOr<DeviceMemory> RowNorms(Kernels& kernels, const Tensor& matrix, int64_t rows, int64_t columns) {
  ASSIGN_OR_RETURN(DeviceMemory norms, kernels.Allocate(static_cast<uint64_t>(rows) * sizeof(double), "row norms"));
  RETURN_IF_ERROR(kernels.Walk("sassay_row_norms", static_cast<uint64_t>(rows) * 32,
                               RowNormsArguments{matrix.address, norms.address(), rows, columns, matrix.element}));
  return norms;
}

absl::StatusOr<DeviceMemory> Largest(Kernels& kernels, const DeviceMemory& norms, int64_t groups, int64_t rows) {
  ASSIGN_OR_RETURN(DeviceMemory largest, kernels.Allocate(static_cast<uint64_t>(groups) * sizeof(double), "largest"));
  RETURN_IF_ERROR(kernels.Launch("sassay_largest", {static_cast<uint64_t>(groups)},
                                 LargestArguments{norms.address(), largest.address(), rows}));
  return largest;
}

}  // namespace sassay::judge::gpu
