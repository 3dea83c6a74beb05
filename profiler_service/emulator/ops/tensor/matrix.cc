#include "profiler_service/emulator/ops/tensor/matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"
#include "profiler_service/emulator/ops/memory/banks.h"
#include "profiler_service/emulator/ops/tensor/sum.h"

namespace sassay::emulator {

int MatrixElementBits(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kBf16:
      return 16;
    case Type::kTf32:
      return 32;
    case Type::kE4m3:
    case Type::kE5m2:
    case Type::kS8:
    case Type::kU8:
      return 8;
    default:
      return 0;
  }
}

double MatrixElement(uint32_t bits, Type type, int index) {
  const uint32_t byte = bits >> (8 * (index & 3)) & 255;
  const uint16_t half = static_cast<uint16_t>(bits >> (16 * (index & 1)));
  switch (type) {
    case Type::kF16:
      return HalfToFloat(half);
    case Type::kBf16:
      return Bf16ToFloat(half);
    case Type::kTf32:
      return std::bit_cast<float>(bits & 0xffffe000);
    case Type::kE4m3:
      return Decode(byte, kE4m3Format);
    case Type::kE5m2:
      return Decode(byte, kE5m2Format);
    case Type::kS8:
      return static_cast<int8_t>(byte);
    default:
      return byte;
  }
}

namespace {

bool HasEightBits(Type type) { return type == Type::kE4m3 || type == Type::kE5m2; }

}  // namespace

// Of 8-bit floats ptxas makes two products of f16: elements 0 and 1 of each four, then 2 and 3; a rounded addition
// brings the accumulator.
void MatrixProduct::MultiplyFloats() {
  const bool halved = HasEightBits(factors);
  const Type type = halved ? Type::kF16 : factors;
  float left[kMaxMatrix][kMaxMatrix], right[kMaxMatrix][kMaxMatrix];  // by row and by column, in the order of addition
  int32_t left_exponents[kMaxMatrix][kMaxMatrix], right_exponents[kMaxMatrix][kMaxMatrix];
  const auto place = [&](int inner) { return halved ? inner / 2 % 2 * (k / 2) + inner / 4 * 2 + inner % 2 : inner; };
  for (int inner = 0; inner < k; ++inner) {
    const int at = place(inner);
    for (int row = 0; row < m; ++row) {
      left[row][at] = static_cast<float>(a[row][inner]);
      left_exponents[row][at] = TensorExponent(left[row][at], type);
    }
    for (int column = 0; column < n; ++column) {
      right[column][at] = static_cast<float>(b[inner][column]);
      right_exponents[column][at] = TensorExponent(right[column][at], type);
    }
  }
  const auto sum_of = [&](int row, int column, int first, int count, float sum) {
    return TensorSum(sum,
                     {&left[row][first], &left_exponents[row][first], &right[column][first],
                      &right_exponents[column][first], 1, static_cast<uint32_t>(count)},
                     {.to_f16 = to_f16});
  };
  const auto rounded = [&](float sum) { return to_f16 ? HalfToFloat(FloatToHalf(sum)) : sum; };
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      const float before = static_cast<float>(c[row][column]);
      if (!halved) {
        c[row][column] = sum_of(row, column, 0, k, before);
        continue;
      }
      const float first = rounded(sum_of(row, column, 0, k / 2, 0));
      c[row][column] = before + rounded(sum_of(row, column, k / 2, k / 2, first));
    }
  }
}

void MatrixProduct::Multiply() {
  if (factors != Type::kS8 && factors != Type::kU8) return MultiplyFloats();
  for (int row = 0; row < m; ++row) {
    for (int inner = 0; inner < k; ++inner) {
      const double factor = a[row][inner];
      for (int column = 0; column < n; ++column) c[row][column] += factor * b[inner][column];
    }
  }
}

namespace {

struct MmaFacts {
  int m = 16, k = 16;  // n is 8
  Type a = Type::kF16, b = Type::kF16, c = Type::kF32, d = Type::kF32;
  bool saturate = false;
  int a_registers = 4, b_registers = 2, c_registers = 4, d_registers = 4;
  int sums() const { return m / 4; }  // elements of the result in a lane
};

// The first register of each.
struct Fragments {
  const Operand *d, *a, *b, *c;
};

Fragments FragmentsOf(const Inst& inst, const MmaFacts& facts) {
  const Operand* a = inst.o + facts.d_registers;
  const Operand* b = a + facts.a_registers;
  return {inst.o, a, b, b + facts.b_registers};
}

double LoadAccumulator(Warp& warp, const Operand* registers, Type type, int lane, int element) {
  if (type == Type::kF16) {
    return HalfToFloat(static_cast<uint16_t>(warp.In<uint32_t>(registers[element / 2])[lane] >> (16 * (element % 2))));
  }
  const uint32_t bits = warp.In<uint32_t>(registers[element])[lane];
  return type == Type::kS32 ? double{static_cast<double>(static_cast<int32_t>(bits))} : std::bit_cast<float>(bits);
}

uint32_t IntegerSum(double value, bool saturate) {
  const int64_t sum = static_cast<int64_t>(value);
  if (saturate) return static_cast<uint32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  return static_cast<uint32_t>(sum);
}

void StoreAccumulator(Warp& warp, const Operand* registers, const MmaFacts& facts, int lane, int element,
                      double value) {
  if (facts.d == Type::kF16) {
    uint32_t& pair = warp.Out<uint32_t>(registers[element / 2])[lane];
    const uint32_t half = FloatToHalf(static_cast<float>(value));
    pair = element % 2 == 0 ? (pair & 0xffff0000) | half : (pair & 0xffff) | half << 16;
    return;
  }
  warp.Out<uint32_t>(registers[element])[lane] = facts.d == Type::kS32
                                                     ? IntegerSum(value, facts.saturate)
                                                     : std::bit_cast<uint32_t>(Canonical(static_cast<float>(value)));
}

Flow Mma(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const MmaFacts& facts = *static_cast<const MmaFacts*>(inst.extra);
  const auto [d, a, b, c] = FragmentsOf(inst, facts);
  const int per = 32 / MatrixElementBits(facts.a);
  MatrixProduct product;
  product.m = facts.m;
  product.n = 8;
  product.k = facts.k;
  product.factors = facts.a;
  product.to_f16 = facts.c == Type::kF16 && facts.d == Type::kF16;
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < facts.a_registers * per; ++i) {
      const Position at = PositionA(lane, i / per, i % per, per);
      product.a[at.row][at.column] = MatrixElement(warp.In<uint32_t>(a[i / per])[lane], facts.a, i % per);
    }
    for (int i = 0; i < facts.b_registers * per; ++i) {
      const Position at = PositionB(lane, i / per, i % per, per);
      product.b[at.row][at.column] = MatrixElement(warp.In<uint32_t>(b[i / per])[lane], facts.b, i % per);
    }
    for (int i = 0; i < facts.sums(); ++i) {
      const Position at = PositionC(lane, i);
      product.c[at.row][at.column] = LoadAccumulator(warp, c, facts.c, lane, i);
    }
  }
  product.Multiply();
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < facts.sums() && (warp.mask() >> lane & 1) != 0; ++i) {
      const Position at = PositionC(lane, i);
      StoreAccumulator(warp, d, facts, lane, i, product.c[at.row][at.column]);
    }
  }
  return Flow::kNext;
}

// Double precision: an element a register, otherwise laid out as above. Each sum is made in the order of k, each step
// rounded once.
Flow MmaF64(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const MmaFacts& facts = *static_cast<const MmaFacts*>(inst.extra);
  const auto [d, a, b, c] = FragmentsOf(inst, facts);
  double rows[kMaxMatrix][kMaxMatrix], columns[kMaxMatrix][kMaxMatrix], sums[kMaxMatrix][kMaxMatrix];
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int i = 0; i < facts.a_registers; ++i) {
      const Position at = PositionA(lane, i, 0, 1);
      rows[at.row][at.column] = warp.In<double>(a[i])[lane];
    }
    for (int i = 0; i < facts.b_registers; ++i) {
      const Position at = PositionB(lane, i, 0, 1);
      columns[at.row][at.column] = warp.In<double>(b[i])[lane];
    }
    for (int i = 0; i < facts.sums(); ++i) {
      const Position at = PositionC(lane, i);
      sums[at.row][at.column] = warp.In<double>(c[i])[lane];
    }
  }
  for (int row = 0; row < facts.m; ++row) {
    for (int column = 0; column < 8; ++column) {
      double& sum = sums[row][column];
      for (int k = 0; k < facts.k; ++k) sum = std::fma(rows[row][k], columns[k][column], sum);
    }
  }
  for (int i = 0; i < facts.sums(); ++i) {
    Map<double>(warp, d[i], [&](int lane) {
      const Position at = PositionC(lane, i);
      return sums[at.row][at.column];
    });
  }
  return Flow::kNext;
}

bool ParseShape(const Decoder& d, MmaFacts& facts) {
  for (const absl::string_view part : d.source().parts) {
    const bool small = absl::StartsWith(part, "m8n8k");
    if (!small && !absl::StartsWith(part, "m16n8k")) continue;
    facts.m = small ? 8 : 16;
    return absl::SimpleAtoi(part.substr(small ? 5 : 6), &facts.k) && facts.k >= 4 && facts.k <= kMaxMatrix;
  }
  return false;
}

absl::Status AppendRegisters(Decoder& d, const ptx::Operand& vector, int count, bool destination,
                             Type type = Type::kB32) {
  const auto elements = Decoder::Elements(vector);
  if (static_cast<int>(elements.size()) != count) return d.Malformed("fragments of the shape's size");
  for (const ptx::Operand* element : elements) {
    RETURN_IF_ERROR(destination ? d.Destination(*element, SizeOf(type)) : d.Source(*element, type));
  }
  return absl::OkStatus();
}

absl::Status DecodeMmaF64(Decoder& d, MmaFacts facts) {
  for (const Type type : d.types()) {
    if (type != Type::kF64) return d.Lacks();
  }
  const bool known = facts.m == 8 ? facts.k == 4 : facts.k == 4 || facts.k == 8 || facts.k == 16;
  if (!known) return d.Lacks();
  facts.a_registers = facts.m * facts.k / kLanes;
  facts.b_registers = 8 * facts.k / kLanes;
  facts.c_registers = facts.d_registers = facts.sums();
  RETURN_IF_ERROR(AppendRegisters(d, d.operand(0), facts.d_registers, true, Type::kF64));
  RETURN_IF_ERROR(AppendRegisters(d, d.operand(1), facts.a_registers, false, Type::kF64));
  RETURN_IF_ERROR(AppendRegisters(d, d.operand(2), facts.b_registers, false, Type::kF64));
  RETURN_IF_ERROR(AppendRegisters(d, d.operand(3), facts.c_registers, false, Type::kF64));
  d.Attach(facts);
  return d.Set(MmaF64, kSync | kTaintStops);
}

absl::Status DecodeMma(Decoder& d) {
  MmaFacts facts;
  if (!d.Has("sync") || d.types().size() != 4 || !ParseShape(d, facts) || d.Has("sp") || d.Has("block_scale") ||
      d.operand_count() != 4 || !d.Has("row") || !d.Has("col")) {
    return d.Lacks();
  }
  facts.d = d.type(0);
  facts.a = d.type(1);
  facts.b = d.type(2);
  facts.c = d.type(3);
  facts.saturate = d.Has("satfinite");
  if (facts.d == Type::kF64) return DecodeMmaF64(d, facts);
  const int bits = MatrixElementBits(facts.a);
  auto accumulates = [](Type type) { return type == Type::kF32 || type == Type::kF16 || type == Type::kS32; };
  const bool integer = facts.a == Type::kS8 || facts.a == Type::kU8;
  if (bits == 0 || bits != MatrixElementBits(facts.b) || !accumulates(facts.c) || !accumulates(facts.d) ||
      integer != (facts.d == Type::kS32) || integer != (facts.c == Type::kS32)) {
    return d.Lacks();
  }
  if (facts.m == 8 && (!integer || facts.k != 16)) return d.Lacks();
  const int per = 32 / bits;
  facts.a_registers = facts.m * facts.k / per / kLanes;
  facts.b_registers = 8 * facts.k / per / kLanes;
  if (facts.a_registers < facts.m / 8 || facts.a_registers > 4 || facts.b_registers < 1) return d.Lacks();
  facts.c_registers = facts.c == Type::kF16 ? 2 : facts.sums();
  facts.d_registers = facts.d == Type::kF16 ? 2 : facts.sums();
  RETURN_IF_ERROR(AppendRegisters(d, d.operand(0), facts.d_registers, true));
  RETURN_IF_ERROR(AppendRegisters(d, d.operand(1), facts.a_registers, false));
  RETURN_IF_ERROR(AppendRegisters(d, d.operand(2), facts.b_registers, false));
  RETURN_IF_ERROR(AppendRegisters(d, d.operand(3), facts.c_registers, false));
  d.Attach(facts);
  return d.Set(Mma, kSync | kTaintStops);
}

// ---- ldmatrix and stmatrix: 8x8 matrices of 16-bit elements; lane i gives the address of row i % 8 of matrix i / 8
// ----

struct Tiles {
  AccessFacts access;
  int count = 1;
  bool transposed = false;
};

Position ElementOfTile(int lane, int element, bool transposed) {
  const Position straight{lane / 4, lane % 4 * 2 + element};
  return transposed ? Position{straight.column, straight.row} : straight;
}

bool AccessRows(Warp& warp, const Inst& inst, const Tiles& tiles, const Operand& address, Lanes& rows) {
  uint64_t addresses[kLanes];
  Addresses(warp, address, inst.immediate, addresses);
  const uint32_t all = warp.mask();
  warp.SetMask(tiles.count == 4 ? all : all & ((1u << (8 * tiles.count)) - 1));
  const bool allowed = Access(warp, inst, tiles.access, addresses, rows);
  if (allowed && warp.launch().counted) CountPasses(warp, inst, rows, tiles.access.bytes);
  warp.SetMask(all);
  return allowed;
}

Flow LoadMatrix(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const Tiles& tiles = *static_cast<const Tiles*>(inst.extra);
  Lanes rows;
  if (!AccessRows(warp, inst, tiles, inst.o[inst.destinations], rows)) return Flow::kRedirected;
  for (int t = 0; t < tiles.count; ++t) {
    uint16_t tile[8][8] = {};
    for (int row = 0; row < 8; ++row) {
      if ((rows.mask >> (8 * t + row) & 1) != 0) std::memcpy(tile[row], rows.at[8 * t + row], 16);
    }
    Map<uint32_t>(warp, inst.o[t], [&](int lane) {
      const Position low = ElementOfTile(lane, 0, tiles.transposed), high = ElementOfTile(lane, 1, tiles.transposed);
      return uint32_t{tile[high.row][high.column]} << 16 | tile[low.row][low.column];
    });
  }
  return Flow::kNext;
}

Flow StoreMatrix(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const Tiles& tiles = *static_cast<const Tiles*>(inst.extra);
  Lanes rows;
  if (!AccessRows(warp, inst, tiles, inst.o[tiles.count], rows)) return Flow::kRedirected;
  uint16_t tile[kLanes][8] = {};
  for (int t = 0; t < tiles.count; ++t) {
    const uint32_t* values = warp.In<uint32_t>(inst.o[t]);
    for (int i = 0; i < 2 * kLanes; ++i) {
      const Position at = ElementOfTile(i / 2, i % 2, tiles.transposed);
      tile[8 * t + at.row][at.column] = static_cast<uint16_t>(values[i / 2] >> (16 * (i % 2)));
    }
  }
  if (warp.checked()) NoteStore(warp, inst, tiles.access, rows, reinterpret_cast<const uint8_t*>(tile), 16);
  for (uint32_t rest = rows.mask; rest != 0; rest &= rest - 1) {
    const int row = std::countr_zero(rest);
    std::memcpy(rows.at[row], tile[row], 16);
  }
  return Flow::kNext;
}

absl::Status DecodeTiles(Decoder& d) {
  Tiles tiles;
  const bool load = d.Part(0) == "ldmatrix";
  tiles.count = d.Has("x4") ? 4 : d.Has("x2") ? 2 : 1;
  tiles.transposed = d.Has("trans");
  if (!d.Has("m8n8") || d.type() != Type::kB16) return d.Lacks();
  RETURN_IF_ERROR(d.NeedOperands(2, 2));
  const ptx::Operand& address = d.operand(load ? 1 : 0);
  tiles.access = ParseAccess(d, address);
  tiles.access.kind = load ? AccessKind::kRead : AccessKind::kWrite;
  tiles.access.bytes = 16;
  RETURN_IF_ERROR(AppendRegisters(d, d.operand(load ? 0 : 1), tiles.count, load));
  RETURN_IF_ERROR(d.Address(address));
  d.Attach(tiles);
  return d.Set(load ? LoadMatrix : StoreMatrix, kSync | kTaintStops);
}

// movmatrix: transposes an 8x8 matrix that lies in registers.
Flow MoveMatrix(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const uint32_t* a = warp.In<uint32_t>(inst.o[1]);
  uint16_t tile[8][8];
  for (int i = 0; i < 2 * kLanes; ++i) {
    const Position at = ElementOfTile(i / 2, i % 2, false);
    tile[at.row][at.column] = static_cast<uint16_t>(a[i / 2] >> (16 * (i % 2)));
  }
  Map<uint32_t>(warp, inst.o[0], [&](int lane) {
    const Position low = ElementOfTile(lane, 0, true), high = ElementOfTile(lane, 1, true);
    return uint32_t{tile[high.row][high.column]} << 16 | tile[low.row][low.column];
  });
  return Flow::kNext;
}

absl::Status DecodeMoveMatrix(Decoder& d) {
  RETURN_IF_ERROR(Regular(d, MoveMatrix, Type::kB32, {Type::kB32}));
  return d.Set(MoveMatrix, kSync | kTaintStops);
}

}  // namespace

void RegisterMatrix(OpTable& table) {
  table.Add("mma", DecodeMma);
  table.Add("ldmatrix", DecodeTiles);
  table.Add("stmatrix", DecodeTiles);
  table.Add("movmatrix", DecodeMoveMatrix);
}

}  // namespace sassay::emulator
