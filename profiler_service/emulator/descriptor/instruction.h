// tcgen05.mma's instruction descriptor: shapes and types of a product (PTX ISA 9.0, 9.7.16.4.2).
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_DESCRIPTOR_INSTRUCTION_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_DESCRIPTOR_INSTRUCTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sassay::emulator {

enum class MmaKind : uint8_t { kF16, kTf32, kF8f6f4, kI8 };
enum class Element : uint8_t { kF16, kBf16, kTf32, kE4m3, kE5m2, kE2m3, kE3m2, kE2m1, kU8, kS8 };
enum class Accumulator : uint8_t { kF16, kF32, kS32 };

absl::string_view KindName(MmaKind kind);

// Bytes that an element takes in shared memory; elements of 4 and 6 bits lie sixteen to sixteen bytes, packed.
uint32_t ElementBytes(Element element);
// 4 and 6 for the small ones.
uint32_t ElementBits(Element element);

// D (m x n) += A (m x k) * B (k x n).
struct MmaShape {
  uint32_t m = 0, n = 0, k = 0;
  Element a = Element::kF16, b = Element::kF16;
  Accumulator d = Accumulator::kF32;
  bool negate_a = false, negate_b = false;
  bool a_mn_major = false, b_mn_major = false;
  bool saturate = false;
};

// INVALID_ARGUMENT says which field is not allowed for the kind (9.7.16.2.1, table 39, and 9.7.16.10.1); UNIMPLEMENTED
// for sparse products. `cta_group` is 1 or 2: how many blocks share M.
absl::StatusOr<MmaShape> DecodeInstruction(uint32_t word, MmaKind kind, uint32_t cta_group);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_DESCRIPTOR_INSTRUCTION_H_
