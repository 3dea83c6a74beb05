// The arithmetic of atom and red, for others that reduce into memory.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_MEMORY_REDUCTION_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_MEMORY_REDUCTION_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "profiler_service/emulator/ptx/types.h"

namespace sassay::emulator {

struct Reduction {
  uint32_t operation = 0;  // a number that FindReduction gives
  Type type = Type::kU32;
};

// add, min, max, inc, dec, and, or, xor. False where the emulator has none of this name for this type.
bool FindReduction(absl::string_view name, Type type, Reduction& reduction);

// Atomically; `at` is aligned to the type. Whether memory changed.
bool Reduce(const Reduction& reduction, uint8_t* at, uint64_t value);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_MEMORY_REDUCTION_H_
