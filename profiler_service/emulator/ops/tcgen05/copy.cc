// tcgen05.cp of whole words (PTX ISA 9.0, 9.7.16.9.2): rows of shared memory to lanes of tensor memory. Of a pair each
// block copies out of its own shared memory, as NVIDIA's libraries use it; the ISA's text names no source block.
#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "profiler_service/emulator/ops/tcgen05/product.h"
#include "profiler_service/emulator/ops/tcgen05/tensor_unit.h"

namespace sassay::emulator {
namespace {

constexpr uint32_t kPieceColumns = 4;  // of the 16 bytes that a descriptor's rows are made of

struct Facts {
  uint32_t group = 1;
  uint32_t rows = 0, columns = 0;
  uint32_t copies = 1;  // .warpx4: the same rows for each quarter of the lanes
};

void Copy(const SharedOperand& source, const Facts& facts, TensorAddress at, const uint8_t* shared,
          TensorMemory& memory) {
  const uint32_t across = facts.columns / kPieceColumns;
  for (uint32_t piece = 0; piece < source.pieces.size(); ++piece) {
    uint32_t words[kPieceColumns];
    std::memcpy(words, shared + source.pieces[piece], sizeof(words));
    for (uint32_t copy = 0; copy < facts.copies; ++copy) {
      const uint32_t lane = at.lane + piece / across + 32 * copy;
      const uint32_t column = at.column + piece % across * kPieceColumns;
      for (uint32_t i = 0; i < kPieceColumns; ++i) memory.Write(lane, column + i, words[i]);
    }
  }
}

// What is wrong with the copy; empty if nothing. Fills in the source.
std::string Wrong(Warp& warp, const Facts& facts, uint64_t descriptor, TensorAddress at, SharedOperand& source,
                  sassay::v1::VerdictCode& code) {
  auto matrix = DecodeTcgen05Descriptor(descriptor, false);
  code = sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID;
  if (!matrix.ok()) return absl::StrCat("tcgen05.cp: the shared-memory descriptor: ", matrix.status().message());
  source.matrix = *std::move(matrix);
  source.element = Element::kU8;
  source.mn = facts.rows;
  source.k = facts.columns * 4;
  code = sassay::v1::VERDICT_CODE_OOB_SHARED;
  if (!source.Place(warp.block().shared().size())) {
    return "tcgen05.cp: the shared-memory descriptor leads outside of the block's shared memory";
  }
  code = sassay::v1::VERDICT_CODE_TENSOR_MEMORY_MISUSE;
  if (at.lane != 0) return absl::StrCat("tcgen05.cp to lane ", at.lane, "; it begins at lane 0");
  const auto allocated = [&](Block* block) {
    return TensorUnit::Of(*block).memory().Allocated(at.column, facts.columns);
  };
  const std::vector<Block*> sides = TensorUnit::Of(warp).Sides(warp.block(), facts.group);
  if (std::all_of(sides.begin(), sides.end(), allocated)) return "";
  return absl::StrCat("tcgen05.cp to ", Columns(at.column, facts.columns),
                      " of tensor memory, which are not all allocated");
}

Flow CopyOne(Warp& warp, const Inst& inst, const Facts& facts, int lane) {
  auto source = std::make_shared<SharedOperand>();
  const TensorAddress at =
      TensorAddress::Of(warp.In<uint32_t>(inst.o[0])[lane] + static_cast<uint32_t>(inst.immediate));
  sassay::v1::VerdictCode code;
  std::string wrong = Wrong(warp, facts, warp.In<uint64_t>(inst.o[1])[lane], at, *source, code);
  if (!wrong.empty()) return Reject(warp, inst, code, std::move(wrong));
  TensorOperation operation;
  operation.name = "tcgen05.cp";
  operation.where = warp.PlaceOf(inst, lane);
  operation.of_pair = facts.group == 2;
  operation.writes = {{0, facts.rows * facts.copies, at.column, facts.columns}};
  const std::vector<Block*> sides = TensorUnit::Of(warp).Sides(warp.block(), facts.group);
  for (Block* block : sides) {
    if (warp.checked()) source->Begin(warp, inst, lane, *block);
  }
  operation.run = [source, facts, at, sides, checked = warp.checked()] {
    for (Block* block : sides) {
      Copy(*source, facts, at, block->shared().data(), TensorUnit::Of(*block).memory());
      if (checked) source->End(*block);
    }
  };
  TensorUnit::Of(warp).Issue(warp, inst, std::move(operation));
  return Flow::kNext;
}

Flow CopyToTensor(Warp& warp, const Inst& inst) {
  const Facts& facts = *static_cast<const Facts*>(inst.extra);
  const uint32_t lanes = warp.mask();
  Flow flow = Flow::kNext;
  if (!EnterGroup(warp, inst, facts.group, true, flow)) return flow;
  for (uint32_t rest = lanes; rest != 0 && flow == Flow::kNext; rest &= rest - 1) {
    warp.SetMask(rest & -rest);
    flow = CopyOne(warp, inst, facts, std::countr_zero(rest));
  }
  warp.SetMask(lanes);
  return flow;
}

}  // namespace

absl::Status DecodeTensorCopy(Decoder& d) {
  Facts facts;
  if (d.Has("128x256b")) facts = {1, 128, 8, 1};
  if (d.Has("128x128b")) facts = {1, 128, 4, 1};
  if (d.Has("32x128b") && d.Has("warpx4")) facts = {1, 32, 4, 4};
  // The ISA's text leaves open which lanes 4x256b and the pairs of warps get.
  facts.group = CtaGroup(d);
  if (facts.group == 0 || facts.rows == 0 || d.Has("b8x16")) return d.Lacks();
  RETURN_IF_ERROR(d.NeedOperands(2, 2));
  RETURN_IF_ERROR(d.Address(d.operand(0)));
  RETURN_IF_ERROR(d.Source(d.operand(1), Type::kB64));
  d.Attach(facts);
  return d.Set(CopyToTensor);
}

}  // namespace sassay::emulator
