// Every place in a step that names a buffer, in one walk.
#ifndef SASSAY_AGENT_CAPTURE_PLAN_BUFFER_IDS_H_
#define SASSAY_AGENT_CAPTURE_PLAN_BUFFER_IDS_H_

#include <cstdint>
#include <functional>

#include "sassay/v1/plan.pb.h"

namespace sassay::capture {

// Replaces each buffer id by what `renumber` gives for it, and each tensor map's number likewise.
void RenumberBuffers(sassay::v1::Step* step, const std::function<uint32_t(uint32_t)>& renumber,
                     const std::function<uint32_t(uint32_t)>& renumber_map);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_BUFFER_IDS_H_
