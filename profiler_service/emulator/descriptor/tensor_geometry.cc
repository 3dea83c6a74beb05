#include "profiler_service/emulator/descriptor/tensor_geometry.h"

#include <cstring>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/bundle/tensor_map.h"

namespace sassay::emulator {
namespace {

constexpr uint64_t kMagic = 0x70616d20726f736e;  // "nsor map"
// By CUtensorMapDataType; 0: a type with gaps.
constexpr uint32_t kElementBits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 0, 0};
constexpr Swizzle kSwizzles[] = {Swizzle::kNone, Swizzle::k32, Swizzle::k64, Swizzle::k128, Swizzle::k128Atom32};

struct Encoded {
  uint64_t magic = kMagic;
  uint64_t base = 0;
  uint64_t stride[kMaxTensorRank - 1] = {};
  uint32_t last[kMaxTensorRank] = {};  // extent - 1
  uint16_t box[kMaxTensorRank] = {};
  uint8_t step[kMaxTensorRank] = {};
  uint8_t rank = 0, data_type = 0, swizzle = 0, oob_fill = 0, interleave = 0;
};
static_assert(sizeof(Encoded) <= 128 && std::is_trivially_copyable_v<Encoded>);

absl::Status Lacks(absl::string_view what) {
  return absl::UnimplementedError(absl::StrCat("emulator lacks tensor maps ", what));
}

}  // namespace

uint64_t TensorGeometry::BoxBytes() const {
  uint64_t bytes = RowBytes();
  for (uint32_t d = 1; d < rank; ++d) bytes *= count[d];
  return bytes;
}

absl::StatusOr<std::array<char, 128>> EncodeTensorGeometry(const sassay::v1::TensorMap& map, uint64_t base) {
  RETURN_IF_ERROR(ValidateTensorMap(map));
  if (base % 16 != 0) return absl::InvalidArgumentError("a tensor map's base is not a multiple of 16");
  if (map.interleave() != 0 && map.element_stride(0) != 1) return Lacks("that interleave with a stride along W");
  if (map.swizzle() >= std::size(kSwizzles)) return Lacks(absl::StrCat("of swizzle ", map.swizzle()));
  if (kElementBits[map.data_type()] == 0) return Lacks(absl::StrCat("of data type ", map.data_type()));
  Encoded encoded;
  encoded.base = base;
  encoded.rank = static_cast<uint8_t>(map.global_dim_size());
  encoded.data_type = static_cast<uint8_t>(map.data_type());
  encoded.swizzle = static_cast<uint8_t>(map.swizzle());
  encoded.oob_fill = static_cast<uint8_t>(map.oob_fill());
  encoded.interleave = static_cast<uint8_t>(map.interleave());
  for (int d = 0; d < map.global_dim_size(); ++d) {
    encoded.last[d] = static_cast<uint32_t>(map.global_dim(d) - 1);
    encoded.box[d] = static_cast<uint16_t>(map.box_dim(d));
    encoded.step[d] = static_cast<uint8_t>(map.element_stride(d));
    if (d > 0) encoded.stride[d - 1] = map.global_stride_bytes(d - 1);
  }
  std::array<char, 128> bytes{};
  std::memcpy(bytes.data(), &encoded, sizeof(encoded));
  return bytes;
}

// The bytes may be anybody's: a kernel can make up a map in its own memory.
bool DecodeTensorGeometry(const uint8_t* bytes, TensorGeometry& geometry) {
  Encoded encoded;
  std::memcpy(&encoded, bytes, sizeof(encoded));
  const bool known = encoded.magic == kMagic && encoded.rank >= 1 && encoded.rank <= kMaxTensorRank &&
                     encoded.data_type < std::size(kElementBits) && kElementBits[encoded.data_type] != 0 &&
                     encoded.swizzle < std::size(kSwizzles) &&
                     (encoded.interleave == 0 || (encoded.interleave <= 2 && encoded.rank >= 3));
  if (!known) return false;
  geometry.base = encoded.base;
  geometry.rank = encoded.rank;
  geometry.data_type = encoded.data_type;
  geometry.element_bits = encoded.interleave != 0 ? 128u * encoded.interleave : kElementBits[encoded.data_type];
  geometry.swizzle = kSwizzles[encoded.swizzle];
  geometry.fills_with_nan = encoded.oob_fill != 0;
  for (uint32_t d = 0; d < geometry.rank; ++d) {
    if (encoded.box[d] == 0 || encoded.box[d] > 256 || encoded.step[d] == 0 || encoded.step[d] > 8) return false;
    // The stride of the innermost dimension is ignored (cuda.h, cuTensorMapEncodeTiled, elementStrides).
    geometry.step[d] = d == 0 ? 1 : encoded.step[d];
    geometry.count[d] = (encoded.box[d] + geometry.step[d] - 1) / geometry.step[d];
    geometry.extent[d] = uint64_t{encoded.last[d]} + 1;
    geometry.stride[d] = d == 0 ? 0 : encoded.stride[d - 1];
  }
  if (encoded.interleave != 0) geometry.count[geometry.rank - 2] = 1;
  return geometry.RowBytes() % 16 == 0 && geometry.RowBytes() > 0;
}

bool ReplaceInTensorMap(uint8_t* bytes, MapField field, uint32_t dimension, uint64_t value) {
  TensorGeometry geometry;
  if (!DecodeTensorGeometry(bytes, geometry)) return false;
  Encoded encoded;
  std::memcpy(&encoded, bytes, sizeof(encoded));
  const uint64_t alignment = encoded.interleave == 2 ? 32 : 16;
  switch (field) {
    case MapField::kAddress:
      if (value % alignment != 0) return false;
      encoded.base = value;
      break;
    case MapField::kExtent:
      if (dimension >= encoded.rank || value == 0 || value > uint64_t{1} << 32) return false;
      encoded.last[dimension] = static_cast<uint32_t>(value - 1);
      break;
    case MapField::kStride:
      if (dimension + 1 >= encoded.rank || value % alignment != 0 || value >= uint64_t{1} << 40) return false;
      encoded.stride[dimension] = value;
      break;
  }
  std::memcpy(bytes, &encoded, sizeof(encoded));
  return true;
}

}  // namespace sassay::emulator
