// How a matrix operand of wgmma and tcgen05 lies in shared memory. Both generations describe it by a 64-bit word, with
// other bits but the same canonical layouts; TMA writes tiles by the same swizzles.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_DESCRIPTOR_SHARED_MATRIX_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_DESCRIPTOR_SHARED_MATRIX_H_

#include <cstdint>

#include "absl/status/statusor.h"

namespace sassay::emulator {

// PTX ISA 9.0, 5.5.7 (swizzling modes) and 9.7.16.10.3. The number is the width of the pattern in bytes; 16-byte pieces
// change places, with kAtom32 pairs of them.
enum class Swizzle : uint8_t { kNone, k32, k64, k128, k128Atom32 };

// Bytes of one row of the pattern; 16 without a swizzle.
inline uint32_t SwizzleWidth(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::kNone:
      return 16;
    case Swizzle::k32:
      return 32;
    case Swizzle::k64:
      return 64;
    default:
      return 128;
  }
}

// Where the byte at `address` of shared memory really lies. `base_offset`: of the descriptor, for patterns that do not
// begin at a multiple of their size.
inline uint32_t SwizzleAddress(uint32_t address, Swizzle swizzle, uint32_t base_offset = 0) {
  const uint32_t row = (address >> 7) - base_offset;
  switch (swizzle) {
    case Swizzle::kNone:
      return address;
    case Swizzle::k32:
      return address ^ (row & 1) << 4;
    case Swizzle::k64:
      return address ^ (row & 3) << 4;
    case Swizzle::k128:
      return address ^ (row & 7) << 4;
    case Swizzle::k128Atom32:
      return address ^ (row & 3) << 5;
  }
  return address;
}

// An operand of M (or N) by K elements. Addresses are of the shared window, as registers hold them.
struct SharedMatrix {
  uint32_t start = 0;
  uint32_t leading_bytes = 0;  // LBO
  uint32_t stride_bytes = 0;   // SBO
  uint32_t base_offset = 0;
  Swizzle swizzle = Swizzle::kNone;
  bool mn_major = false;

  // Where element (mn, k) lies; its bytes are contiguous. `element_bytes` is 1, 2 or 4.
  //
  // Canonical layouts, in bytes, before the swizzle (PTX ISA 9.0, 9.7.15.5.1.2 and 9.7.16.5.1):
  //   K-major, no swizzle    (mn % 8) * 16 + (mn / 8) * SBO + kb % 16 + (kb / 16) * LBO             kb = k * bytes
  //   K-major, width W       (mn % 8) * W + (mn / 8) * SBO + kb
  //   MN-major, no swizzle   b % 16 + (b / 16) * SBO + (k % 8) * 16 + (k / 8) * LBO                 b = mn * bytes
  //   MN-major, width W      b % W + (b / W) * LBO + (k % R) * W + (k / R) * SBO                    R = 8; kAtom32: 4
  uint32_t Address(uint32_t mn, uint32_t k, uint32_t element_bytes) const {
    const uint32_t offset = mn_major ? MnMajor(mn * element_bytes, k) : KMajor(mn, k * element_bytes);
    return SwizzleAddress(start + offset, swizzle, base_offset);
  }

 private:
  static constexpr uint32_t kRowsOfCore = 8, kCoreBytes = 16;

  uint32_t KMajor(uint32_t mn, uint32_t k_bytes) const {
    const uint32_t rows = mn / kRowsOfCore * stride_bytes;
    if (swizzle != Swizzle::kNone) return mn % kRowsOfCore * SwizzleWidth(swizzle) + rows + k_bytes;
    return mn % kRowsOfCore * kCoreBytes + rows + k_bytes % kCoreBytes + k_bytes / kCoreBytes * leading_bytes;
  }
  uint32_t MnMajor(uint32_t mn_bytes, uint32_t k) const {
    const uint32_t width = SwizzleWidth(swizzle);
    const uint32_t deep = swizzle == Swizzle::k128Atom32 ? kRowsOfCore / 2 : kRowsOfCore;
    const bool plain = swizzle == Swizzle::kNone;
    const uint32_t along = plain ? stride_bytes : leading_bytes, across = plain ? leading_bytes : stride_bytes;
    return mn_bytes % width + mn_bytes / width * along + k % deep * width + k / deep * across;
  }
};

// Both: INVALID_ARGUMENT says which field holds what the ISA does not know.
// wgmma: PTX ISA 9.0, 9.7.15.5.1.2.2 (matrix descriptor format).
absl::StatusOr<SharedMatrix> DecodeWgmmaDescriptor(uint64_t word, bool mn_major);
// tcgen05: PTX ISA 9.0, 9.7.16.4.1 (shared memory descriptor).
absl::StatusOr<SharedMatrix> DecodeTcgen05Descriptor(uint64_t word, bool mn_major);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_DESCRIPTOR_SHARED_MATRIX_H_
