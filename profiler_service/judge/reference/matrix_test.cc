#include "profiler_service/judge/reference/matrix.h"

#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace sassay::judge {
namespace {

std::vector<double> Whole(int64_t count, int seed) {
  std::mt19937 random(seed);
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(random() % 9) - 4;  // sums are exact in any order
  return values;
}

double At(const MatrixView& view, int64_t row, int64_t column) {
  return view.data[row * view.row_stride + column * view.column_stride];
}

void ExpectProduct(const MatrixView& a, const MatrixView& b, const std::vector<double>& c, double before) {
  for (int64_t i = 0; i < a.rows; ++i) {
    for (int64_t j = 0; j < b.columns; ++j) {
      double sum = before;
      for (int64_t k = 0; k < a.columns; ++k) sum += At(a, i, k) * At(b, k, j);
      ASSERT_EQ(c[i * b.columns + j], sum) << i << "," << j;
    }
  }
}

TEST(Matrix, MultipliesShapesThatFitNoTile) {
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1}, {4, 8, 512}, {5, 9, 513}, {67, 33, 1030}, {3, 100, 7}}) {
    const std::vector<double> a = Whole(m * k, 1), b = Whole(k * n, 2);
    std::vector<double> c(m * n, 99);
    Multiply(RowMajor(a.data(), m, k), RowMajor(b.data(), k, n), c.data(), n, false);
    ExpectProduct(RowMajor(a.data(), m, k), RowMajor(b.data(), k, n), c, 0);
  }
}

TEST(Matrix, TakesTransposedViewsAndAccumulates) {
  const std::vector<double> a = Whole(20 * 30, 1), b = Whole(10 * 20, 2);
  std::vector<double> c(30 * 10, 5);
  const MatrixView left = RowMajor(a.data(), 20, 30).Transposed(), right = RowMajor(b.data(), 10, 20).Transposed();
  Multiply(left, right, c.data(), 10, true);
  ExpectProduct(left, right, c, 5);
}

TEST(Matrix, TakesPartsOfAMatrix) {
  const std::vector<double> a = Whole(20 * 20, 1);
  std::vector<double> c(5 * 6);
  const MatrixView left = RowMajor(a.data(), 20, 20).Rows(3, 5), right = RowMajor(a.data(), 20, 20).Columns(7, 6);
  Multiply(left, right, c.data(), 6, false);
  ExpectProduct(left, right, c, 0);
}

}  // namespace
}  // namespace sassay::judge
