#include "profiler_service/emulator/ops/tcgen05/product.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/tensor/tile_layout.h"

namespace sassay::emulator {
namespace {

// Layout F: row r lies in lane r / 16 * 32 + r % 16.
uint32_t LaneOfRow(uint32_t row, const MmaShape& shape) { return shape.half_lanes() ? row / 16 * 32 + row % 16 : row; }

// Formats of 4 and 6 bits are plain: all patterns are finite (PTX ISA 9.0, 5.2.3).
double SmallValue(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const double sign = (bits >> (exponent_bits + mantissa_bits) & 1) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp((1u << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

// Sixteen bytes hold as many elements as their containers allow, packed from the low bits on.
uint32_t BitsInPiece(const uint8_t* piece, uint32_t index, uint32_t bits) {
  const uint32_t first = index * bits;
  uint64_t word = 0;
  std::memcpy(&word, piece + first / 8, std::min<size_t>(8, 16 - first / 8));
  word >>= first % 8;
  return static_cast<uint32_t>(word & ((uint64_t{1} << bits) - 1));
}

double OldValue(uint32_t cell, Accumulator type) {
  switch (type) {
    case Accumulator::kF16:
      return HalfToFloat(static_cast<uint16_t>(cell));
    case Accumulator::kF32:
      return std::bit_cast<float>(cell);
    default:
      return static_cast<int32_t>(cell);
  }
}

uint32_t NewCell(double value, const MmaShape& shape) {
  switch (shape.d) {
    case Accumulator::kF16:
      return FloatToHalf(static_cast<float>(value));
    case Accumulator::kF32:
      return std::bit_cast<uint32_t>(Canonical(static_cast<float>(value)));
    default:
      if (shape.saturate) value = std::clamp<double>(value, INT32_MIN, INT32_MAX);
      return static_cast<uint32_t>(static_cast<int64_t>(value));
  }
}

}  // namespace

double ElementValue(uint32_t bits, Element element) {
  switch (element) {
    case Element::kF16:
      return HalfToFloat(static_cast<uint16_t>(bits));
    case Element::kBf16:
      return Bf16ToFloat(static_cast<uint16_t>(bits));
    case Element::kTf32:
      return std::bit_cast<float>(bits & 0xffffe000);
    case Element::kE4m3:
      return Decode(bits, kE4m3Format);
    case Element::kE5m2:
      return Decode(bits, kE5m2Format);
    case Element::kE2m3:
      return SmallValue(bits, 2, 3);
    case Element::kE3m2:
      return SmallValue(bits, 3, 2);
    case Element::kE2m1:
      return SmallValue(bits, 2, 1);
    case Element::kS8:
      return static_cast<int8_t>(bits);
    case Element::kU8:
      return bits & 0xff;
  }
  return 0;
}

bool SharedOperand::Place(uint32_t shared_bytes) {
  const uint32_t per = per_piece(), bytes = ElementBytes(element);
  const uint32_t rows = matrix.mn_major ? mn / per : mn, columns = matrix.mn_major ? k : k / per;
  pieces.clear();
  for (uint32_t row = 0; row < rows; ++row) {
    for (uint32_t column = 0; column < columns; ++column) {
      const uint32_t address =
          matrix.mn_major ? matrix.Address(row * per, column, bytes) : matrix.Address(row, column * per, bytes);
      const uint32_t offset = address - kSharedBase;
      if (address < kSharedBase || offset > shared_bytes || shared_bytes - offset < 16) return false;
      pieces.push_back(offset);
    }
  }
  return true;
}

void SharedOperand::Begin(Warp& warp, const Inst& inst, int lane, Block& block) const {
  for (const uint32_t offset : pieces) NoteUnitRead(warp, inst, lane, block, offset, 16);
}

void SharedOperand::CheckLayout(Warp& warp, const Inst& inst, int lane, Block& block, absl::string_view name) const {
  CheckTileLayout(warp, inst, lane, block, pieces, matrix.swizzle, name);
}

// Who may write there next is ordered by the commit, which comes after the reads began.
void SharedOperand::End(Block& block) const {
  for (const uint32_t offset : pieces) block.copies().EndRead(offset, 16);
}

std::vector<double> SharedOperand::Read(const uint8_t* shared) const {
  const uint32_t per = per_piece(), bits = ElementBits(element);
  const uint32_t columns = matrix.mn_major ? k : k / per;
  std::vector<double> values(size_t{mn} * k);
  for (uint32_t piece = 0; piece < pieces.size(); ++piece) {
    const uint32_t row = piece / columns, column = piece % columns;
    for (uint32_t i = 0; i < per; ++i) {
      const size_t at = matrix.mn_major ? size_t{row * per + i} * k + column : size_t{row} * k + column * per + i;
      values[at] = ElementValue(BitsInPiece(shared + pieces[piece], i, bits), element);
    }
  }
  return values;
}

std::vector<TensorRegion> Tcgen05Product::Regions(TensorAddress at, uint32_t columns) const {
  if (!shape.half_lanes()) return {{at.lane, kTensorLanes, at.column, columns}};
  std::vector<TensorRegion> regions;
  for (uint32_t row = 0; row < 64; row += 16) {
    regions.push_back({at.lane + LaneOfRow(row, shape), 16, at.column, columns});
  }
  return regions;
}

std::vector<double> Tcgen05Product::ReadA(const ProductSide& side, uint32_t first_lane) const {
  if (!a_in_tensor_memory) return a.Read(side.shared);
  const uint32_t bits = ElementBits(shape.a), per = 32 / bits;
  std::vector<double> values(size_t{shape.rows()} * shape.k);
  for (uint32_t row = 0; row < shape.rows(); ++row) {
    const uint32_t* cells = side.memory->Row(a_at.lane + first_lane + LaneOfRow(row, shape)) + a_at.column;
    for (uint32_t k = 0; k < shape.k; ++k) {
      const uint32_t element = cells[k / per] >> (k % per * bits);
      values[size_t{row} * shape.k + k] = ElementValue(bits == 32 ? element : element & ((1u << bits) - 1), shape.a);
    }
  }
  return values;
}

std::vector<double> Tcgen05Product::ReadB(absl::Span<const ProductSide> sides) const {
  std::vector<double> across(size_t{shape.k} * shape.n);
  for (uint32_t side = 0; side < sides.size(); ++side) {
    const std::vector<double> part = b.Read(sides[side].shared);
    for (uint32_t n = 0; n < b.mn; ++n) {
      for (uint32_t k = 0; k < shape.k; ++k)
        across[size_t{k} * shape.n + side * b.mn + n] = part[size_t{n} * shape.k + k];
    }
  }
  return across;
}

void Tcgen05Product::ComputePart(const ProductSide& side, const Part& part, const std::vector<double>& right) const {
  const std::vector<double> left = ReadA(side, part.lane);
  const double sign = shape.negate_a != shape.negate_b ? -1 : 1;
  const double keep = std::ldexp(1, -scale);
  double sums[256];
  for (uint32_t row = 0; row < shape.rows(); ++row) {
    const uint32_t lane = d_at.lane + part.lane + LaneOfRow(row, shape);
    if ((disabled_lanes[lane / 32] >> lane % 32 & 1) != 0) continue;
    uint32_t* cells = side.memory->Row(lane) + d_at.column;
    for (uint32_t n = 0; n < part.count; ++n) sums[n] = accumulate ? keep * OldValue(cells[n], shape.d) : 0;
    for (uint32_t k = 0; k < shape.k; ++k) {
      const double factor = sign * left[size_t{row} * shape.k + k];
      const double* other = &right[size_t{k} * shape.n + part.first];
      for (uint32_t n = 0; n < part.count; ++n) sums[n] += factor * other[n];
    }
    for (uint32_t n = 0; n < part.count; ++n) cells[n] = NewCell(sums[n], shape);
    side.memory->MarkWritten({lane, 1, d_at.column, part.count});
  }
}

void Tcgen05Product::Compute(absl::Span<const ProductSide> sides) const {
  const std::vector<double> right = ReadB(sides);
  const uint32_t count = shape.d_columns();
  for (const ProductSide& side : sides) {
    for (uint32_t first = 0; first < shape.n; first += count) {
      ComputePart(side, {first == 0 ? 0 : kTensorLanes / 2, first, count}, right);
    }
  }
}

}  // namespace sassay::emulator
