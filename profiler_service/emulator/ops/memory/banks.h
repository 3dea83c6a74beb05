// Shared memory has 32 banks of 4 bytes; one pass reads or writes one word of each.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_MEMORY_BANKS_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_MEMORY_BANKS_H_

#include <cstdint>

#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/warp.h"

namespace sassay::emulator {

// Passes that an access of `bytes` bytes a lane takes: lanes go together as far as 128 bytes reach (all 32 with 4 bytes
// each, 16 with 8, 8 with 16), and each such group takes as many passes as the fullest bank has different words.
// `offsets`: of the lanes in `mask`. `least`: as many as there are groups with a lane.
struct Passes {
  uint32_t taken = 0, least = 0;
};
Passes PassesOver(const uint32_t (&offsets)[kLanes], uint32_t mask, uint32_t bytes);

// Counted launches: adds those of one access to the instruction's count.
void CountPasses(Warp& warp, const Inst& inst, const Lanes& lanes, uint32_t bytes);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_MEMORY_BANKS_H_
