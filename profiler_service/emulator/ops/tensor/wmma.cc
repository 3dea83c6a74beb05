#include <bit>
#include <cstring>
#include <vector>

#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/memory/racing.h"
#include "profiler_service/emulator/ops/arithmetic/numeric.h"
#include "profiler_service/emulator/ops/families.h"
#include "profiler_service/emulator/ops/lanes.h"
#include "profiler_service/emulator/ops/tensor/matrix.h"

// wmma: how a fragment spreads over lanes is the implementation's own affair. For m16n16 it is laid out as on hardware
// (two m16n8 products side by side), because some kernels rely on it; for the other shapes it is row by row.
namespace sassay::emulator {
namespace {

enum Role : uint8_t { kA, kB, kC };

struct Fragment {
  Role role = kA;
  int rows = 16, columns = 16;
  Type type = Type::kF16;  // of an element in memory
  int registers = 4;
  bool square = true;  // of an m16n16 shape

  int per_register() const { return type == Type::kF32 || type == Type::kTf32 || type == Type::kS32 ? 1 : 2; }
  int elements() const { return rows * columns / kLanes; }
  uint32_t bytes() const { return per_register() == 1 ? 4 : 2; }

  Position At(int lane, int element) const {
    const int per = per_register();
    if (!square) {
      const int index = lane * elements() + element;
      return {index / columns, index % columns};
    }
    if (role == kC) {
      Position at = PositionC(lane, element % 4);
      at.column += element / 4 * 8;
      return at;
    }
    const int reg = element / per, within = element % per;
    if (role == kA) return PositionA(lane, reg, within, per);
    const int half = elements() / per / 2;
    Position at = PositionB(lane, reg % half, within, per);
    at.column += reg / half * 8;
    return at;
  }
};

struct Shape {
  int m = 0, n = 0, k = 0;
};

bool ParseShape(const Decoder& d, Shape& shape) {
  static constexpr struct {
    absl::string_view name;
    Shape shape;
  } kShapes[] = {
      {"m16n16k16", {16, 16, 16}}, {"m32n8k16", {32, 8, 16}}, {"m8n32k16", {8, 32, 16}}, {"m16n16k8", {16, 16, 8}}};
  for (const auto& row : kShapes) {
    if (!d.Has(row.name)) continue;
    shape = row.shape;
    return true;
  }
  return false;
}

bool MakeFragment(Role role, const Shape& shape, Type type, Fragment& fragment) {
  fragment.role = role;
  fragment.type = type;
  fragment.rows = role == kB ? shape.k : shape.m;
  fragment.columns = role == kA ? shape.k : shape.n;
  fragment.square = shape.m == 16 && shape.n == 16;
  fragment.registers = fragment.elements() / fragment.per_register();
  // Of f16 every lane holds its elements twice (eight registers), a legacy of the first tensor cores.
  if (role != kC && type == Type::kF16) fragment.registers = 8;
  if (role == kC) return type == Type::kF32 || type == Type::kF16;
  return type == Type::kF16 || type == Type::kBf16 || (type == Type::kTf32 && shape.k == 8);
}

struct Transfer {
  Fragment fragment;
  AccessFacts access;
  bool column_major = false;
  bool has_stride = false;
};

void ElementAddresses(Warp& warp, const Inst& inst, const Transfer& facts, const uint64_t (&base)[kLanes], int element,
                      uint64_t (&addresses)[kLanes]) {
  const Fragment& fragment = facts.fragment;
  const uint32_t* strides =
      facts.has_stride ? warp.In<uint32_t>(inst.o[inst.destinations + inst.sources - 1]) : nullptr;
  for (int lane = 0; lane < kLanes; ++lane) {
    const Position at = fragment.At(lane, element);
    const uint64_t stride = strides != nullptr
                                ? strides[lane]
                                : static_cast<uint64_t>(facts.column_major ? fragment.rows : fragment.columns);
    const uint64_t row = static_cast<uint64_t>(at.row), column = static_cast<uint64_t>(at.column);
    addresses[lane] =
        base[lane] + (facts.column_major ? column * stride + row : row * stride + column) * fragment.bytes();
  }
}

Flow Load(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const Transfer& facts = *static_cast<const Transfer*>(inst.extra);
  const Fragment& fragment = facts.fragment;
  uint64_t base[kLanes], addresses[kLanes];
  Addresses(warp, inst.o[inst.destinations], inst.immediate, base);
  const int per = fragment.per_register(), elements = fragment.elements();
  uint32_t values[kLanes][16] = {};
  for (int e = 0; e < elements; ++e) {
    ElementAddresses(warp, inst, facts, base, e, addresses);
    Lanes lanes;
    if (!Access(warp, inst, facts.access, addresses, lanes)) return Flow::kRedirected;
    for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      uint32_t value = 0;
      CopyFromRacing(reinterpret_cast<uint8_t*>(&value), lanes.at[lane], fragment.bytes());
      values[lane][e / per] |= value << (16 * (e % per));
    }
  }
  const int distinct = elements / per;
  for (int r = 0; r < fragment.registers; ++r) {
    Map<uint32_t>(warp, inst.o[r], [&](int lane) { return values[lane][r % distinct]; });
  }
  return Flow::kNext;
}

Flow Store(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const Transfer& facts = *static_cast<const Transfer*>(inst.extra);
  const Fragment& fragment = facts.fragment;
  uint64_t base[kLanes], addresses[kLanes];
  Addresses(warp, inst.o[fragment.registers], inst.immediate, base);
  const int per = fragment.per_register();
  for (int e = 0; e < fragment.elements(); ++e) {
    ElementAddresses(warp, inst, facts, base, e, addresses);
    uint32_t values[kLanes];
    const uint32_t* source = warp.In<uint32_t>(inst.o[e / per]);
    for (int lane = 0; lane < kLanes; ++lane) values[lane] = source[lane] >> (16 * (e % per));
    Lanes lanes;
    if (!Access(warp, inst, facts.access, addresses, lanes)) return Flow::kRedirected;
    if (warp.checked()) NoteStore(warp, inst, facts.access, lanes, reinterpret_cast<const uint8_t*>(values), 4);
    for (uint32_t rest = lanes.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      CopyToRacing(lanes.at[lane], reinterpret_cast<const uint8_t*>(&values[lane]), fragment.bytes());
    }
  }
  return Flow::kNext;
}

absl::Status AppendFragment(Decoder& d, const ptx::Operand& vector, const Fragment& fragment, bool destination) {
  const auto elements = Decoder::Elements(vector);
  if (static_cast<int>(elements.size()) != fragment.registers) return d.Malformed("fragments of the shape's size");
  for (const ptx::Operand* element : elements) {
    RETURN_IF_ERROR(destination ? d.Destination(*element, 4) : d.Source(*element, Type::kB32));
  }
  return absl::OkStatus();
}

absl::Status DecodeTransfer(Decoder& d, bool load) {
  RETURN_IF_ERROR(d.NeedOperands(2, 3));
  Shape shape;
  Transfer facts;
  const Role role = d.Part(2) == "a" ? kA : d.Part(2) == "b" ? kB : kC;
  if (!ParseShape(d, shape) || !MakeFragment(role, shape, d.type(), facts.fragment)) return d.Lacks();
  facts.column_major = d.Has("col");
  facts.has_stride = d.operand_count() == 3;
  const ptx::Operand& address = d.operand(load ? 1 : 0);
  facts.access = ParseAccess(d, address);
  facts.access.kind = load ? AccessKind::kRead : AccessKind::kWrite;
  facts.access.bytes = facts.fragment.bytes();
  RETURN_IF_ERROR(AppendFragment(d, d.operand(load ? 0 : 1), facts.fragment, load));
  RETURN_IF_ERROR(d.Address(address));
  if (facts.has_stride) RETURN_IF_ERROR(d.Source(d.operand(2), Type::kU32));
  d.Attach(facts);
  return d.Set(load ? Load : Store, kSync | kTaintStops);
}

struct Product {
  Shape shape;
  Fragment a, b, c, d;
};

double Element(Warp& warp, const Operand* registers, const Fragment& fragment, int lane, int element) {
  const int per = fragment.per_register();
  const uint32_t bits = warp.In<uint32_t>(registers[element / per])[lane];
  if (fragment.type == Type::kF32) return std::bit_cast<float>(bits);
  return MatrixElement(bits, fragment.type, element % per);
}

Flow Mma(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const Product& facts = *static_cast<const Product*>(inst.extra);
  const Operand* d = inst.o;
  const Operand* a = d + facts.d.registers;
  const Operand* b = a + facts.a.registers;
  const Operand* c = b + facts.b.registers;
  MatrixProduct product;
  product.m = facts.shape.m;
  product.n = facts.shape.n;
  product.k = facts.shape.k;
  product.factors = facts.a.type;
  product.to_f16 = facts.c.type == Type::kF16 && facts.d.type == Type::kF16;
  auto gather = [&](const Operand* registers, const Fragment& fragment, double(&matrix)[kMaxMatrix][kMaxMatrix]) {
    for (int i = 0; i < kLanes * fragment.elements(); ++i) {
      const int lane = i / fragment.elements(), element = i % fragment.elements();
      const Position at = fragment.At(lane, element);
      matrix[at.row][at.column] = Element(warp, registers, fragment, lane, element);
    }
  };
  gather(a, facts.a, product.a);
  gather(b, facts.b, product.b);
  gather(c, facts.c, product.c);
  product.Multiply();
  const int per = facts.d.per_register();
  for (int r = 0; r < facts.d.registers; ++r) {
    Map<uint32_t>(warp, d[r], [&](int lane) {
      const Position low = facts.d.At(lane, r * per);
      const float value = static_cast<float>(product.c[low.row][low.column]);
      if (per == 1) return std::bit_cast<uint32_t>(Canonical(value));
      const Position high = facts.d.At(lane, r * per + 1);
      return uint32_t{FloatToHalf(static_cast<float>(product.c[high.row][high.column]))} << 16 | FloatToHalf(value);
    });
  }
  return Flow::kNext;
}

absl::Status DecodeProduct(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(4, 4));
  Product facts;
  const bool named = d.types().size() == 4;  // d, a, b, c; f16 inputs are not named
  if (!named && d.types().size() != 2) return d.Lacks();
  const Type a = named ? d.type(1) : Type::kF16, b = named ? d.type(2) : Type::kF16;
  if (!ParseShape(d, facts.shape) || !MakeFragment(kA, facts.shape, a, facts.a) ||
      !MakeFragment(kB, facts.shape, b, facts.b) || !MakeFragment(kC, facts.shape, d.types().back(), facts.c) ||
      !MakeFragment(kC, facts.shape, d.type(0), facts.d)) {
    return d.Lacks();
  }
  RETURN_IF_ERROR(AppendFragment(d, d.operand(0), facts.d, true));
  RETURN_IF_ERROR(AppendFragment(d, d.operand(1), facts.a, false));
  RETURN_IF_ERROR(AppendFragment(d, d.operand(2), facts.b, false));
  RETURN_IF_ERROR(AppendFragment(d, d.operand(3), facts.c, false));
  d.Attach(facts);
  return d.Set(Mma, kSync | kTaintStops);
}

absl::Status DecodeWmma(Decoder& d) {
  if (d.Part(1) == "load") return DecodeTransfer(d, true);
  if (d.Part(1) == "store") return DecodeTransfer(d, false);
  if (d.Part(1) == "mma") return DecodeProduct(d);
  return d.Lacks();
}

}  // namespace

void RegisterWmma(OpTable& table) { table.Add("wmma", DecodeWmma); }

}  // namespace sassay::emulator
