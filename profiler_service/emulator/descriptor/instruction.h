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
  uint32_t ctas = 1;  // blocks that share the product: each has its part of A's and D's rows, and of B's columns
  Element a = Element::kF16, b = Element::kF16;
  Accumulator d = Accumulator::kF32;
  bool negate_a = false, negate_b = false;
  bool a_mn_major = false, b_mn_major = false;
  bool saturate = false;

  uint32_t rows() const { return m / ctas; }     // of A and D, in one block
  uint32_t columns() const { return n / ctas; }  // of B, in one block
  // Layout B (PTX ISA 9.0, 9.7.16.10.5.2): 64 rows in lanes 0 to 63, and again, with the other half of D's columns, in
  // lanes 64 to 127.
  bool two_by_two() const { return ctas == 2 && m == 128; }
  // Layout F: 64 rows in sixteen lanes of each warp.
  bool half_lanes() const { return ctas == 1 && m == 64; }
  // Columns of tensor memory that D takes.
  uint32_t d_columns() const { return two_by_two() ? n / 2 : n; }
};

// INVALID_ARGUMENT says which field is not allowed for the kind (9.7.16.2.1, table 39, and 9.7.16.10.1); UNIMPLEMENTED
// for sparse products. `cta_group` is 1 or 2: how many blocks share M.
absl::StatusOr<MmaShape> DecodeInstruction(uint32_t word, MmaKind kind, uint32_t cta_group);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_DESCRIPTOR_INSTRUCTION_H_
