#include "profiler_service/emulator/descriptor/shared_matrix.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sassay::emulator {
namespace {

uint32_t Bits(uint64_t word, int first, int count) {
  return static_cast<uint32_t>(word >> first & ((uint64_t{1} << count) - 1));
}

SharedMatrix Common(uint64_t word, bool mn_major) {
  SharedMatrix matrix;
  matrix.start = Bits(word, 0, 14) << 4;
  matrix.leading_bytes = Bits(word, 16, 14) << 4;
  matrix.stride_bytes = Bits(word, 32, 14) << 4;
  matrix.base_offset = Bits(word, 49, 3);
  matrix.mn_major = mn_major;
  return matrix;
}

}  // namespace

absl::StatusOr<SharedMatrix> DecodeWgmmaDescriptor(uint64_t word, bool mn_major) {
  constexpr Swizzle kModes[] = {Swizzle::kNone, Swizzle::k128, Swizzle::k64, Swizzle::k32};
  SharedMatrix matrix = Common(word, mn_major);
  matrix.swizzle = kModes[Bits(word, 62, 2)];
  return matrix;
}

absl::StatusOr<SharedMatrix> DecodeTcgen05Descriptor(uint64_t word, bool mn_major) {
  SharedMatrix matrix = Common(word, mn_major);
  const uint32_t fixed = Bits(word, 46, 3), mode = Bits(word, 61, 3);
  if (fixed != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("bits 46 to 48 are ", fixed, "; the ISA fixes them at 1 (a wgmma descriptor has 0 there)"));
  }
  // The absolute mode exists on sm_103a only, for rows of 48 bytes.
  if (Bits(word, 52, 1) != 0) return absl::InvalidArgumentError("bit 52 asks for an absolute leading dimension");
  if (Bits(word, 53, 8) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("bits 53 to 60 are ", Bits(word, 53, 8), "; the ISA fixes them at 0"));
  }
  switch (mode) {
    case 0:
      matrix.swizzle = Swizzle::kNone;
      break;
    case 1:
      matrix.swizzle = Swizzle::k128Atom32;
      break;
    case 2:
      matrix.swizzle = Swizzle::k128;
      break;
    case 4:
      matrix.swizzle = Swizzle::k64;
      break;
    case 6:
      matrix.swizzle = Swizzle::k32;
      break;
    default:
      return absl::InvalidArgumentError(absl::StrCat("the swizzle mode is ", mode, "; 0, 1, 2, 4 and 6 exist"));
  }
  return matrix;
}

}  // namespace sassay::emulator
