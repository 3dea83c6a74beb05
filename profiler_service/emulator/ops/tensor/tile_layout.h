// Whether the two sides of a tile agree: the tensor map by which TMA laid it down, and the descriptor by which a matrix
// instruction reads it.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_TILE_LAYOUT_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_TILE_LAYOUT_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "profiler_service/emulator/descriptor/shared_matrix.h"
#include "profiler_service/emulator/exec/block.h"
#include "profiler_service/emulator/exec/warp.h"

namespace sassay::emulator {

// Checked launches: reports an operand all of whose 16-byte pieces (`pieces`: offsets in the shared memory of `block`)
// were brought by tensor maps of another swizzle. Where threads have laid down a part of it nobody can tell, so nothing
// is said; nor of boxes that another block of the cluster sent.
void CheckTileLayout(Warp& warp, const Inst& inst, int lane, Block& block, absl::Span<const uint32_t> pieces,
                     Swizzle swizzle, absl::string_view operand);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_TENSOR_TILE_LAYOUT_H_
