// Dense products in fp64 for the references: slow beside a GPU, exact enough to judge one.
#ifndef SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_MATRIX_H_
#define SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_MATRIX_H_

#include <cstdint>

namespace sassay::judge {

// Somebody else's matrix, in any layout. Strides in elements.
struct MatrixView {
  const double* data;
  int64_t rows, columns;
  int64_t row_stride, column_stride;

  MatrixView Transposed() const { return {data, columns, rows, column_stride, row_stride}; }
  MatrixView Rows(int64_t first, int64_t count) const {
    return {data + first * row_stride, count, columns, row_stride, column_stride};
  }
  MatrixView Columns(int64_t first, int64_t count) const {
    return {data + first * column_stride, rows, count, row_stride, column_stride};
  }
};

// A contiguous row-major matrix.
inline MatrixView RowMajor(const double* data, int64_t rows, int64_t columns) {
  return {data, rows, columns, columns, 1};
}

// c = a * b, or c += a * b if `accumulate`; c is row-major with `c_stride` elements from row to row and must not
// overlap. One thread; sums in fp64 in a fixed order, so the result does not depend on who calls.
void Multiply(const MatrixView& a, const MatrixView& b, double* c, int64_t c_stride, bool accumulate);

}  // namespace sassay::judge

#endif  // SASSAY_PROFILER_SERVICE_JUDGE_REFERENCE_MATRIX_H_
