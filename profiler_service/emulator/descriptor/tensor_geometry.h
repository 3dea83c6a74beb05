// What a CUtensorMap says, in the emulated device's own 128 bytes: the driver's format is not public. A kernel may only
// hand it to TMA, so nobody can tell.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_DESCRIPTOR_TENSOR_GEOMETRY_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_DESCRIPTOR_TENSOR_GEOMETRY_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "profiler_service/emulator/descriptor/shared_matrix.h"
#include "sassay/v1/plan.pb.h"

namespace sassay::emulator {

inline constexpr int kMaxTensorRank = 5;

// A tiled tensor in global memory and the box that one copy moves. Dimensions innermost first; all strides in bytes.
//
// Interleaved layouts (cuda.h names them and says no more; this is what an H200 does, tests/gpu/tma_interleave.py): the
// channels lie in slices of 16 or 32 bytes, one slice beside the other along W. Dimensions are W, perhaps H and D, then
// slices, then N; a slice is what an element is elsewhere, whatever the data type. A box has one slice, however many
// channels its box_dim counts there.
struct TensorGeometry {
  uint64_t base = 0;
  uint32_t rank = 0;
  uint64_t extent[kMaxTensorRank] = {};  // elements
  uint64_t stride[kMaxTensorRank] = {};  // bytes; [0] is not used
  uint32_t count[kMaxTensorRank] = {};   // elements of the box that arrive
  uint32_t step[kMaxTensorRank] = {};    // from one to the next, in elements of the tensor; [0] is always 1
  uint32_t element_bits = 0;             // of a slice, in an interleaved layout
  uint32_t data_type = 0;                // CUtensorMapDataType
  Swizzle swizzle = Swizzle::kNone;
  bool fills_with_nan = false;

  uint32_t RowBytes() const { return count[0] * element_bits / 8; }
  // From one row to the next in shared memory: rows narrower than the swizzle's pattern begin where a row of it does,
  // as on an H200 (tests/gpu/tma_rules.cc).
  uint32_t PitchBytes() const {
    return swizzle == Swizzle::kNone ? RowBytes() : std::max(RowBytes(), SwizzleWidth(swizzle));
  }
  uint64_t BoxBytes() const;  // that arrive, and are told to an mbarrier
  uint64_t SpanBytes() const { return (BoxBytes() / RowBytes() - 1) * PitchBytes() + RowBytes(); }  // of shared memory
};

// A row of a box along dimension 0: its bytes [begin, end) lie in the tensor from `address` on, the others outside.
struct BoxRow {
  uint32_t offset = 0;  // in the box
  uint32_t begin = 0, end = 0;
  uint64_t address = 0;
};

// UNIMPLEMENTED for what the emulator lacks (types with gaps, interleaved layouts that leave slices out along W),
// INVALID_ARGUMENT for what cuTensorMapEncodeTiled refuses.
absl::StatusOr<std::array<char, 128>> EncodeTensorGeometry(const sassay::v1::TensorMap& map, uint64_t base);
// False: these are no tensor map.
bool DecodeTensorGeometry(const uint8_t* bytes, TensorGeometry& geometry);

// What tensormap.replace may change of the 128 bytes of a map. `dimension`: of an extent; of a stride, the one above
// it.
enum class MapField : uint8_t { kAddress, kExtent, kStride };
// False: these are no tensor map, it has no such dimension, or cuTensorMapEncodeTiled would refuse the value.
bool ReplaceInTensorMap(uint8_t* bytes, MapField field, uint32_t dimension, uint64_t value);

// Calls visit(BoxRow) for each row of the box at `at`, in the order in which they lie in shared memory.
template <class Visit>
void ForBoxRows(const TensorGeometry& geometry, const int32_t (&at)[kMaxTensorRank], const Visit& visit) {
  const auto inside = [&](uint32_t d, int64_t x) { return x >= 0 && static_cast<uint64_t>(x) < geometry.extent[d]; };
  const int64_t first = at[0], extent = static_cast<int64_t>(geometry.extent[0]), count = geometry.count[0];
  const int64_t low = first < 0 ? -first : 0, high = extent - first < count ? extent - first : count;
  uint32_t index[kMaxTensorRank] = {};
  for (BoxRow row;; row.offset += geometry.PitchBytes()) {
    bool in_tensor = low < high;
    row.address = geometry.base + static_cast<uint64_t>(first + low) * geometry.element_bits / 8;
    for (uint32_t d = 1; d < geometry.rank; ++d) {
      const int64_t x = at[d] + int64_t{index[d]} * geometry.step[d];
      in_tensor &= inside(d, x);
      row.address += static_cast<uint64_t>(x) * geometry.stride[d];
    }
    row.begin = in_tensor ? static_cast<uint32_t>(low) * geometry.element_bits / 8 : 0;
    row.end = in_tensor ? static_cast<uint32_t>(high) * geometry.element_bits / 8 : 0;
    visit(row);
    uint32_t d = 1;
    while (d < geometry.rank && ++index[d] == geometry.count[d]) index[d++] = 0;
    if (d >= geometry.rank) return;
  }
}

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_DESCRIPTOR_TENSOR_GEOMETRY_H_
