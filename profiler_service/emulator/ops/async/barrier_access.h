// How instructions find the mbarrier that an address names: mbarrier.* itself, and whatever signals one when it is
// done.
#ifndef SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ASYNC_BARRIER_ACCESS_H_
#define SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ASYNC_BARRIER_ACCESS_H_

#include <cstdint>
#include <string>

#include "profiler_service/emulator/exec/access.h"
#include "profiler_service/emulator/exec/decoder.h"
#include "profiler_service/emulator/exec/warp.h"

namespace sassay::emulator {

struct BarrierPlace {
  Block* block = nullptr;  // whose shared memory it lies in
  uint32_t offset = 0;
  uint8_t* unwritten = nullptr;
};

// Facts of an access to an mbarrier: 8 bytes, atomic; shared memory, or a generic address that leads there.
AccessFacts BarrierAccess(const Decoder& decoder);

// The barriers that the lanes of warp.mask() name; `here`: the lanes whose address may be used. False: the launch ends.
bool FindBarriers(Warp& warp, const Inst& inst, const Operand& address, const AccessFacts& facts, int64_t displacement,
                  BarrierPlace (&places)[kLanes], uint32_t& here);

// Whether there is a barrier. If not, that is a finding in a checked launch, and the end of any other.
bool CheckBarrier(Warp& warp, const Inst& inst, int lane, const BarrierPlace& place);

// False: the launch ends, as a fault; in a checked one the finding is noted, and it goes on.
bool ReportBarrierMisuse(Warp& warp, const Inst& inst, int lane, std::string message);

}  // namespace sassay::emulator

#endif  // SASSAY_PROFILER_SERVICE_EMULATOR_OPS_ASYNC_BARRIER_ACCESS_H_
