#include "profiler_service/judge/reference/matrix.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sassay::judge {
namespace {

constexpr int64_t kRows = 4, kColumns = 8;  // register tile
constexpr int64_t kDepth = 512;             // a packed panel of b stays in the L2 cache

// Tile rows of `a` (or columns of `b`) side by side, padded with zeros.
template <int64_t kWidth>
void Pack(const double* data, int64_t count, int64_t across, int64_t along, int64_t depth, double* packed) {
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t i = 0; i < kWidth; ++i) packed[k * kWidth + i] = i < count ? data[i * across + k * along] : 0;
  }
}

void Tile(const double* a, const double* b, int64_t depth, double* sums) {
  double local[kRows * kColumns] = {};
  for (int64_t k = 0; k < depth; ++k, a += kRows, b += kColumns) {
    for (int64_t i = 0; i < kRows; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) local[i * kColumns + j] += a[i] * b[j];
    }
  }
  std::memcpy(sums, local, sizeof(local));
}

void Add(const double* sums, int64_t rows, int64_t columns, double* c, int64_t c_stride) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) c[i * c_stride + j] += sums[i * kColumns + j];
  }
}

}  // namespace

void Multiply(const MatrixView& a, const MatrixView& b, double* c, int64_t c_stride, bool accumulate) {
  if (!accumulate) {
    for (int64_t i = 0; i < a.rows; ++i) std::fill_n(c + i * c_stride, b.columns, 0.0);
  }
  const int64_t row_tiles = (a.rows + kRows - 1) / kRows;
  std::vector<double> packed_a(row_tiles * kRows * kDepth), packed_b(kColumns * kDepth);
  for (int64_t k = 0; k < a.columns; k += kDepth) {
    const int64_t depth = std::min(kDepth, a.columns - k);
    for (int64_t tile = 0; tile < row_tiles; ++tile) {
      Pack<kRows>(a.data + tile * kRows * a.row_stride + k * a.column_stride, std::min(kRows, a.rows - tile * kRows),
                  a.row_stride, a.column_stride, depth, &packed_a[tile * kRows * kDepth]);
    }
    for (int64_t j = 0; j < b.columns; j += kColumns) {
      const int64_t columns = std::min(kColumns, b.columns - j);
      Pack<kColumns>(b.data + k * b.row_stride + j * b.column_stride, columns, b.column_stride, b.row_stride, depth,
                     packed_b.data());
      for (int64_t tile = 0; tile < row_tiles; ++tile) {
        double sums[kRows * kColumns];
        Tile(&packed_a[tile * kRows * kDepth], packed_b.data(), depth, sums);
        Add(sums, std::min(kRows, a.rows - tile * kRows), columns, c + tile * kRows * c_stride + j, c_stride);
      }
    }
  }
}

}  // namespace sassay::judge
