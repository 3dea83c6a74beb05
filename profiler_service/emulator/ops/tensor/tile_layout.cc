#include "profiler_service/emulator/ops/tensor/tile_layout.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace sassay::emulator {
namespace {

absl::string_view NameOf(Swizzle swizzle) {
  constexpr absl::string_view kNames[] = {"no swizzle", "a swizzle of 32 bytes", "a swizzle of 64 bytes",
                                          "a swizzle of 128 bytes", "a swizzle of 128 bytes in atoms of 32"};
  return kNames[static_cast<size_t>(swizzle)];
}

Swizzle SwizzleOf(const Touch& brought) { return static_cast<Swizzle>(brought.swizzle - 1); }

// The copy that brought the first piece, if all pieces came by another swizzle.
const Touch* Disagreement(const SharedMemory& shared, absl::Span<const uint32_t> pieces, Swizzle swizzle) {
  const Touch* first = nullptr;
  for (const uint32_t piece : pieces) {
    const Touch* brought = shared.BroughtBy(piece);
    if (brought == nullptr || SwizzleOf(*brought) == swizzle) return nullptr;
    if (first == nullptr) first = brought;
  }
  return first;
}

}  // namespace

void CheckTileLayout(Warp& warp, const Inst& inst, int lane, Block& block, absl::Span<const uint32_t> pieces,
                     Swizzle swizzle, absl::string_view operand) {
  constexpr auto kCode = sassay::v1::VERDICT_CODE_DESCRIPTOR_INVALID;
  const Touch* brought = Disagreement(block.shared(), pieces, swizzle);
  if (brought == nullptr || !warp.launch().report.Wants(kCode, inst.id, warp.block().index())) return;
  Misuse misuse;
  misuse.code = kCode;
  misuse.where = warp.PlaceOf(inst, lane);
  misuse.other = Place{block.index(), brought->thread, brought->inst};
  misuse.has_other = true;
  misuse.buffer = "shared";
  misuse.message =
      absl::StrCat("the shared-memory descriptor of ", operand, " says ", NameOf(swizzle),
                   "; the tile was laid down by a tensor map with ", NameOf(SwizzleOf(*brought)), " at ", kOtherPlace);
  warp.launch().report.Add(std::move(misuse));
}

}  // namespace sassay::emulator
