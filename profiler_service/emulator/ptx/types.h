// The types of PTX (PTX ISA 9.0, chapter 5.2), as far as instruction and register declarations name them.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_PTX_TYPES_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_PTX_TYPES_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sassay::emulator {

enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kU8,
  kS8,
  kE4m3,
  kE5m2,
  kB16,
  kU16,
  kS16,
  kF16,
  kBf16,
  kE4m3x2,
  kE5m2x2,
  kB32,
  kU32,
  kS32,
  kF32,
  kTf32,
  kF16x2,
  kBf16x2,
  kU16x2,
  kS16x2,
  kB64,
  kU64,
  kS64,
  kF64,
  kB128,
};

// "u32" or ".u32" to kU32; kNone if `text` names no type.
Type ParseType(absl::string_view text);

// Bytes of one value in memory; 0 for kNone, 1 for kPred.
uint32_t SizeOf(Type type);

bool IsSigned(Type type);
bool IsFloat(Type type);

// State spaces (PTX ISA 9.0, chapter 5.1). kGeneric: an address that tells its space itself.
enum class Space : uint8_t { kGeneric, kReg, kGlobal, kConst, kShared, kLocal, kParam };

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_PTX_TYPES_H_
