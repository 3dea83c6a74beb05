#include "common/bundle/tensor_map.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay {
namespace {

using sassay::v1::TensorMap;

// CUtensorMapDataType, CUtensorMapInterleave and CUtensorMapSwizzle, numerically as in cuda.h.
constexpr uint32_t k16U4Align8B = 13, k16U4Align16B = 14, k16U6Align16B = 15;
constexpr uint32_t kInterleaveNone = 0, kInterleave32B = 2;
constexpr uint32_t kSwizzleNone = 0, kSwizzle32B = 1, kSwizzle64B = 2, kSwizzle128B = 3, kSwizzle128BAtom32B = 4;
constexpr uint32_t kSwizzle128BAtom64B = 6;
constexpr uint32_t kElementBits[] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 8, 8};
constexpr bool kIsFloat[] = {false, false, false, false, false, false, true,  true,
                             true,  true,  true,  true,  true,  false, false, false};

absl::Status Refuse(absl::string_view field, uint64_t got, absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", got, ", expected ", expected));
}

std::string At(absl::string_view field, int index) { return absl::StrCat(field, "[", index, "]"); }

// Packed types whose memory has gaps; cuda.h asks more of them.
bool IsGapped(const TensorMap& map) { return map.data_type() == k16U4Align16B || map.data_type() == k16U6Align16B; }

absl::Status CheckEnums(const TensorMap& map) {
  if (map.data_type() >= std::size(kElementBits)) return Refuse("data_type", map.data_type(), "0 to 15");
  if (map.interleave() > kInterleave32B) return Refuse("interleave", map.interleave(), "0 to 2");
  if (map.swizzle() > kSwizzle128BAtom64B) return Refuse("swizzle", map.swizzle(), "0 to 6");
  if (map.l2_promotion() > 3) return Refuse("l2_promotion", map.l2_promotion(), "0 to 3");
  if (map.oob_fill() > 1) return Refuse("oob_fill", map.oob_fill(), "0 or 1");
  if (map.oob_fill() == 1 && !kIsFloat[map.data_type()]) {
    return Refuse("oob_fill", 1, "0, because data_type is not a floating-point type");
  }
  return absl::OkStatus();
}

absl::Status CheckRank(const TensorMap& map) {
  const int rank = map.global_dim_size();
  const int least = map.interleave() == kInterleaveNone ? 1 : 3;
  if (rank < least || rank > 5) return Refuse("global_dim", rank, absl::StrCat(least, " to 5 extents"));
  const auto entries = [rank](int less) { return absl::StrCat(rank - less, " entries for rank ", rank); };
  if (map.global_stride_bytes_size() != rank - 1) {
    return Refuse("global_stride_bytes", map.global_stride_bytes_size(), entries(1));
  }
  if (map.box_dim_size() != rank) return Refuse("box_dim", map.box_dim_size(), entries(0));
  if (map.element_stride_size() != rank) return Refuse("element_stride", map.element_stride_size(), entries(0));
  return absl::OkStatus();
}

absl::Status CheckExtents(const TensorMap& map) {
  for (int i = 0; i < map.global_dim_size(); ++i) {
    if (map.global_dim(i) == 0 || map.global_dim(i) > (uint64_t{1} << 32)) {
      return Refuse(At("global_dim", i), map.global_dim(i), "1 to 2^32");
    }
    if (map.box_dim(i) == 0 || map.box_dim(i) > 256) return Refuse(At("box_dim", i), map.box_dim(i), "1 to 256");
    if (map.element_stride(i) == 0 || map.element_stride(i) > 8) {
      return Refuse(At("element_stride", i), map.element_stride(i), "1 to 8");
    }
  }
  if (IsGapped(map) && map.global_dim(0) % 128 != 0)
    return Refuse("global_dim[0]", map.global_dim(0), "a multiple of 128");
  if (IsGapped(map) && map.box_dim(0) != 128) return Refuse("box_dim[0]", map.box_dim(0), "128 for this data_type");
  if (map.data_type() == k16U4Align8B && map.global_dim(0) % 2 != 0) {
    return Refuse("global_dim[0]", map.global_dim(0), "a multiple of 2");
  }
  return absl::OkStatus();
}

absl::Status CheckAlignment(const TensorMap& map) {
  const uint64_t alignment = map.interleave() == kInterleave32B || IsGapped(map) ? 32 : 16;
  const std::string multiple = absl::StrCat("a multiple of ", alignment);
  if (map.base().offset_bytes() % alignment != 0)
    return Refuse("base.offset_bytes", map.base().offset_bytes(), multiple);
  for (int i = 0; i < map.global_stride_bytes_size(); ++i) {
    const uint64_t stride = map.global_stride_bytes(i);
    if (stride % alignment != 0) return Refuse(At("global_stride_bytes", i), stride, multiple);
    if (stride >= (uint64_t{1} << 40)) return Refuse(At("global_stride_bytes", i), stride, "less than 2^40");
  }
  return absl::OkStatus();
}

uint64_t SwizzleSpanBytes(uint32_t swizzle) {
  if (swizzle == kSwizzle32B) return 32;
  return swizzle == kSwizzle64B ? 64 : 128;
}

absl::Status CheckSwizzle(const TensorMap& map) {
  if (map.interleave() == kInterleave32B && map.swizzle() != kSwizzle32B) {
    return Refuse("swizzle", map.swizzle(), "1 (32 bytes), because interleave is 32 bytes");
  }
  if (map.data_type() == k16U6Align16B && map.interleave() != kInterleaveNone) {
    return Refuse("interleave", map.interleave(), "0 for this data_type");
  }
  if (IsGapped(map) && map.swizzle() != kSwizzleNone && map.swizzle() != kSwizzle128B &&
      map.swizzle() != kSwizzle128BAtom32B && map.swizzle() != kSwizzle128BAtom64B) {
    return Refuse("swizzle", map.swizzle(), "0, 3, 4 or 6 for this data_type");
  }
  if (IsGapped(map)) return absl::OkStatus();
  const uint64_t inner_bytes = uint64_t{map.box_dim(0)} * kElementBits[map.data_type()] / 8;
  if (inner_bytes % 16 != 0) return Refuse("box_dim[0] in bytes", inner_bytes, "a multiple of 16");
  if (map.interleave() == kInterleaveNone && map.swizzle() != kSwizzleNone &&
      inner_bytes > SwizzleSpanBytes(map.swizzle())) {
    return Refuse("box_dim[0] in bytes", inner_bytes,
                  absl::StrCat("at most the swizzle's span of ", SwizzleSpanBytes(map.swizzle())));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateTensorMap(const TensorMap& untrusted) {
  RETURN_IF_ERROR(CheckEnums(untrusted));
  RETURN_IF_ERROR(CheckRank(untrusted));
  RETURN_IF_ERROR(CheckExtents(untrusted));
  RETURN_IF_ERROR(CheckAlignment(untrusted));
  return CheckSwizzle(untrusted);
}

absl::optional<uint64_t> TensorMapExtentBytes(const TensorMap& map) {
  uint64_t bytes = 0;
  // Along the first dimension of an interleaved layout there are slices of channels, not elements.
  const uint64_t bits = map.interleave() == kInterleaveNone ? kElementBits[map.data_type()] : 128 * map.interleave();
  if (__builtin_mul_overflow(map.global_dim(0), bits, &bytes)) return absl::nullopt;
  bytes = (bytes + 7) / 8;
  for (int i = 0; i < map.global_stride_bytes_size(); ++i) {
    uint64_t distance = 0;
    if (__builtin_mul_overflow(map.global_dim(i + 1) - 1, map.global_stride_bytes(i), &distance)) return absl::nullopt;
    if (__builtin_add_overflow(bytes, distance, &bytes)) return absl::nullopt;
  }
  return bytes;
}

}  // namespace sassay
