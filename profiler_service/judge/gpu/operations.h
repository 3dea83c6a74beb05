// The few operations that references are made of, one launch each.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_GPU_OPERATIONS_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_GPU_OPERATIONS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_service/judge/gpu/kernels.h"
#include "profiler_service/judge/gpu/reference.h"

namespace sassay::judge::gpu {

// The address of an element.
inline device::DeviceAddress At(const Tensor& tensor, int64_t index) {
  return tensor.address + static_cast<uint64_t>(index) * WidthOf(tensor.element);
}

// A tensor that products read: the tensor itself, or a copy of it in fp32 or fp64 where its type is another.
struct Operand {
  Tensor tensor;
  DeviceMemory copy;
};
absl::StatusOr<Operand> OperandOf(Kernels& kernels, const Tensor& tensor, int64_t count);

// C[m, n] = A[m, k] B[k, n], to be completed with the operands. Strides count elements.
ProductArguments ProductOf(int64_t m, int64_t n, int64_t k, Triangle triangle = Triangle::kNone, int64_t first_row = 0);
void SetA(ProductArguments& product, const Tensor& a, int64_t row, int64_t depth, int64_t batch = 0);
void SetB(ProductArguments& product, const Tensor& b, int64_t depth, int64_t column, int64_t batch = 0);
void SetC(ProductArguments& product, const Tensor& c, int64_t row, int64_t batch = 0, bool accumulate = false);
absl::Status Multiply(Kernels& kernels, const ProductArguments& product, int64_t batches);

// to[i] = factor * from[i], or factor * sqrt(max(0, from[i])); may be in place where the types are equal.
absl::Status Convert(Kernels& kernels, const Tensor& from, const Tensor& to, int64_t count, double factor = 1,
                     bool root = false);

// fp64 norms of `rows` rows.
absl::StatusOr<DeviceMemory> RowNorms(Kernels& kernels, const Tensor& matrix, int64_t rows, int64_t columns);
// fp64, the largest of each group of `rows` norms.
absl::StatusOr<DeviceMemory> Largest(Kernels& kernels, const DeviceMemory& norms, int64_t groups, int64_t rows);

}  // namespace sassay::judge::gpu

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_GPU_OPERATIONS_H_
