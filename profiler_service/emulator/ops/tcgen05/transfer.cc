// tcgen05.ld, st, wait and fence (PTX ISA 9.0, 9.7.16.8 and 9.7.16.11).
#include <bit>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/ops/lanes.h"
#include "profiler_service/emulator/ops/tcgen05/tensor_unit.h"

namespace sassay::emulator {
namespace {

constexpr auto kMisuse = sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE;

enum class Shape : uint8_t { k32x32b, k16x64b, k16x128b, k16x256b, k16x32bx2 };

struct Facts {
  Shape shape = Shape::k32x32b;
  uint32_t registers = 0;   // of one lane
  uint32_t half_split = 0;  // 16x32bx2: columns from the first half to the second
  bool sixteen_bits = false;
  bool load = false;
  uint32_t lanes() const { return shape == Shape::k32x32b ? 32 : 16; }
  uint32_t columns() const {
    const bool narrow = shape == Shape::k32x32b || shape == Shape::k16x32bx2;
    return registers * (narrow ? 1 : 2) * (sixteen_bits ? 2 : 1);
  }
};

struct Cell {
  uint32_t lane = 0, column = 0;
};

// Which cell, relative to the address, register `r` of thread `t` holds: PTX ISA 9.0, 9.7.16.2.3.1, figures 183 to 187.
Cell CellOf(Shape shape, uint32_t t, uint32_t r) {
  switch (shape) {
    case Shape::k32x32b:
      return {t, r};
    case Shape::k16x64b:
      return {t / 4 + t % 2 * 8, 2 * r + t / 2 % 2};
    case Shape::k16x128b:
      return {t / 4 + r % 2 * 8, r / 2 * 4 + t % 4};
    case Shape::k16x256b:
      return {t / 4 + r / 2 % 2 * 8, r / 4 * 8 + t % 4 * 2 + r % 2};
    case Shape::k16x32bx2:
      return {t % 16, r};
  }
  return {};
}

// Calls visit(thread, register, lane, column) for every register; with 16-bit elements `column` is the first of two.
template <class Visit>
void ForCells(const Facts& facts, TensorAddress at, const Visit& visit) {
  const uint32_t scale = facts.sixteen_bits ? 2 : 1;
  for (uint32_t t = 0; t < kLanes; ++t) {
    const uint32_t second = facts.shape == Shape::k16x32bx2 && t >= 16 ? facts.half_split : 0;
    for (uint32_t r = 0; r < facts.registers; ++r) {
      const Cell cell = CellOf(facts.shape, t, r);
      visit(t, r, at.lane + cell.lane, at.column + second + cell.column * scale);
    }
  }
}

// A warp reaches the quarter of the lanes that its number within the warpgroup tells (PTX ISA 9.0, 9.7.16.8.1).
std::string WrongLanes(const Warp& warp, const Facts& facts, TensorAddress at, absl::string_view operation) {
  const uint32_t first = warp.index() % 4 * 32;
  const uint32_t end = at.lane + facts.lanes();
  if (at.lane >= first && end <= first + 32 && at.lane % facts.lanes() == 0) return "";
  return absl::StrCat(operation, " of lanes ", at.lane, " to ", end - 1, " by warp ", warp.index(),
                      ", which reaches lanes ", first, " to ", first + 31,
                      facts.lanes() == 16 ? " in halves of 16" : "");
}

std::string NotAllocated(TensorUnit& unit, const Facts& facts, TensorAddress at, absl::string_view operation) {
  for (const uint32_t part : {0u, facts.half_split}) {
    if (unit.memory().Allocated(at.column + part, facts.columns())) continue;
    return absl::StrCat(operation, " of ", Columns(at.column + part, facts.columns()),
                        " of tensor memory, which are not all allocated");
  }
  return "";
}

// What the instruction does wrong, or nothing.
std::string Wrong(Warp& warp, TensorUnit& unit, const Facts& facts, TensorAddress at, bool uniform) {
  const absl::string_view operation = facts.load ? "tcgen05.ld" : "tcgen05.st";
  if (!uniform) return absl::StrCat(operation, " with another address in some lanes of the warp");
  const std::string lanes = WrongLanes(warp, facts, at, operation);
  return lanes.empty() ? NotAllocated(unit, facts, at, operation) : lanes;
}

std::vector<TensorRegion> Regions(const Facts& facts, TensorAddress at) {
  std::vector<TensorRegion> regions = {{at.lane, facts.lanes(), at.column, facts.columns()}};
  if (facts.half_split != 0) regions.push_back({at.lane, facts.lanes(), at.column + facts.half_split, facts.columns()});
  return regions;
}

uint32_t LoadCell(const TensorMemory& memory, const Facts& facts, uint32_t lane, uint32_t column) {
  const uint32_t value = memory.Read(lane, column);
  return facts.sixteen_bits ? (value & 0xffff) | memory.Read(lane, column + 1) << 16 : value;
}

void StoreCell(TensorMemory& memory, const Facts& facts, uint32_t lane, uint32_t column, uint32_t value) {
  memory.Write(lane, column, facts.sixteen_bits ? value & 0xffff : value);
  if (facts.sixteen_bits) memory.Write(lane, column + 1, value >> 16);
}

void TaintLoaded(Warp& warp, const Inst& inst, const Facts& facts, const TensorMemory& memory, TensorAddress at) {
  std::array<uint32_t, 128> never{};
  uint32_t any = 0;
  ForCells(facts, at, [&](uint32_t t, uint32_t r, uint32_t lane, uint32_t column) {
    if (memory.Written(lane, column)) return;
    never[r] |= 1u << t;
    any |= 1;
  });
  if (any != 0) warp.NoteOrigin(inst.id, {"tensor memory", false});
  if (any == 0 && !warp.any_taint()) return;
  for (uint32_t r = 0; r < facts.registers; ++r) warp.Taint(inst.o[r], never[r], inst);
}

Flow LoadTensor(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  TensorUnit& unit = TensorUnit::Of(warp);
  TensorAddress at;
  const bool uniform = UniformTensorAddress(warp, inst, inst.o[facts.registers], at);
  std::string wrong = Wrong(warp, unit, facts, at, uniform);
  if (!wrong.empty()) {
    for (uint32_t r = 0; r < facts.registers; ++r) Map<uint32_t>(warp, inst.o[r], [](int) { return 0u; });
    return Reject(warp, inst, kMisuse, std::move(wrong));
  }
  const TensorMemory& memory = unit.memory();
  const uint32_t mask = warp.mask();
  if (warp.checked()) {
    bool too_early = false;
    for (const TensorRegion& region : Regions(facts, at)) too_early |= unit.NoteLoad(warp, inst, region);
    // What is loaded too early is no more to blame for what it held before.
    if (!too_early) TaintLoaded(warp, inst, facts, memory, at);
    for (uint32_t r = 0; r < facts.registers; ++r) warp.BeginRegister(inst.o[r], AsyncUnit::kTensorLoad, 0, inst, true);
  }
  ForCells(facts, at, [&](uint32_t t, uint32_t r, uint32_t lane, uint32_t column) {
    if ((mask >> t & 1) != 0) warp.Out<uint32_t>(inst.o[r])[t] = LoadCell(memory, facts, lane, column);
  });
  return Flow::kNext;
}

Flow StoreTensor(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  TensorUnit& unit = TensorUnit::Of(warp);
  TensorAddress at;
  const bool uniform = UniformTensorAddress(warp, inst, inst.o[0], at);
  std::string wrong = Wrong(warp, unit, facts, at, uniform);
  if (!wrong.empty()) return Reject(warp, inst, kMisuse, std::move(wrong));
  TensorMemory& memory = unit.memory();
  const uint32_t mask = warp.mask();
  for (const TensorRegion& region : warp.checked() ? Regions(facts, at) : std::vector<TensorRegion>()) {
    unit.NoteStore(warp, inst, region);
  }
  ForCells(facts, at, [&](uint32_t t, uint32_t r, uint32_t lane, uint32_t column) {
    if ((mask >> t & 1) == 0) return;
    StoreCell(memory, facts, lane, column, warp.In<uint32_t>(inst.o[1 + r])[t]);
    if (warp.any_taint() && (warp.Tainted(inst.o[1 + r]) >> t & 1) != 0) memory.MarkUnwritten(lane, column);
  });
  return Flow::kNext;
}

// `a`: 1 waits for loads, 0 for stores.
Flow WaitTransfer(Warp& warp, const Inst& inst) {
  if (!warp.Gathered(~0u)) return Flow::kBlocked;
  TensorUnit& unit = TensorUnit::Of(warp);
  if (inst.a == 1) {
    unit.WaitLoads(warp.index());
    warp.EndRegisters(AsyncUnit::kTensorLoad, 0);
  } else {
    unit.WaitStores(warp.index());
  }
  return Flow::kNext;
}

// What orders tcgen05 operations of several threads are the barriers between; the fences keep the compiler from moving
// them across.
Flow Fence(Warp&, const Inst&) { return Flow::kNext; }

absl::Status ParseShape(Decoder& d, Facts& facts) {
  constexpr std::pair<absl::string_view, Shape> kShapes[] = {{"32x32b", Shape::k32x32b},
                                                             {"16x64b", Shape::k16x64b},
                                                             {"16x128b", Shape::k16x128b},
                                                             {"16x256b", Shape::k16x256b},
                                                             {"16x32bx2", Shape::k16x32bx2}};
  bool known = false;
  uint32_t repeats = 0;
  for (const absl::string_view part : d.source().parts) {
    for (const auto& [name, shape] : kShapes) {
      if (part == name) known = true, facts.shape = shape;
    }
    if (part.size() > 1 && part[0] == 'x' && !absl::SimpleAtoi(part.substr(1), &repeats)) return d.Lacks();
  }
  if (!known || !std::has_single_bit(repeats) || repeats > 128) return d.Lacks();
  const uint32_t each = facts.shape == Shape::k16x128b ? 2 : facts.shape == Shape::k16x256b ? 4 : 1;
  facts.registers = repeats * each;
  if (facts.registers > 128) return d.Malformed("at most 128 registers");
  facts.sixteen_bits = d.Has("pack::16b") || d.Has("unpack::16b");
  return absl::OkStatus();
}

// The columns from the first half to the second: the operand after the address.
absl::Status ParseHalfSplit(Decoder& d, Facts& facts, size_t index) {
  if (facts.shape != Shape::k16x32bx2) return absl::OkStatus();
  if (d.operand(index).kind != ptx::Operand::kInteger) return d.Malformed("a constant offset of the second half");
  facts.half_split = static_cast<uint32_t>(d.operand(index).bits);
  return absl::OkStatus();
}

}  // namespace

absl::Status DecodeTensorLoad(Decoder& d) {
  Facts facts;
  facts.load = true;
  if (d.Has("red")) return d.Lacks();
  RETURN_IF_ERROR(ParseShape(d, facts));
  const size_t halves = facts.shape == Shape::k16x32bx2 ? 1 : 0;
  RETURN_IF_ERROR(d.NeedOperands(2 + halves, 2 + halves));
  RETURN_IF_ERROR(ParseHalfSplit(d, facts, 2));
  const auto registers = Decoder::Elements(d.operand(0));
  if (registers.size() != facts.registers) return d.Malformed(absl::StrCat(facts.registers, " registers"));
  for (const ptx::Operand* element : registers) RETURN_IF_ERROR(d.Destination(*element, 4));
  RETURN_IF_ERROR(d.Address(d.operand(1)));
  d.Attach(facts);
  return d.Set(LoadTensor, kSync | kTaintOwn | kRegistersOwn);
}

absl::Status DecodeTensorStore(Decoder& d) {
  Facts facts;
  RETURN_IF_ERROR(ParseShape(d, facts));
  const size_t halves = facts.shape == Shape::k16x32bx2 ? 1 : 0;
  RETURN_IF_ERROR(d.NeedOperands(2 + halves, 2 + halves));
  RETURN_IF_ERROR(ParseHalfSplit(d, facts, 1));
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  const auto registers = Decoder::Elements(d.operand(1 + halves));
  if (registers.size() != facts.registers) return d.Malformed(absl::StrCat(facts.registers, " registers"));
  for (const ptx::Operand* element : registers) RETURN_IF_ERROR(d.Source(*element, Type::kB32));
  d.Attach(facts);
  return d.Set(StoreTensor, kSync | kTaintOwn);
}

absl::Status DecodeTensorWait(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(0, 0));
  d.inst().a = d.Part(1) == "wait::ld";
  return d.Set(WaitTransfer, kSync);
}

absl::Status DecodeTensorFence(Decoder& d) {
  RETURN_IF_ERROR(d.NeedOperands(0, 0));
  return d.Set(Fence);
}

}  // namespace sassay::emulator
