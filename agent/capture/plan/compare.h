// Do two steady calls launch the same work? And what did the first call do besides?
#ifndef SASSAY_AGENT_CAPTURE_PLAN_COMPARE_H_
#define SASSAY_AGENT_CAPTURE_PLAN_COMPARE_H_

#include <vector>

#include "agent/capture/plan/refusal.h"
#include "agent/capture/plan/step_reader.h"
#include "sassay/v1/plan.pb.h"

namespace sassay::capture {

// The steps of the second call if the third launches the same, with padding zeroed; else why not. Two kinds of bytes
// may differ: those that follow the paint (00 in the second call, FF in the third; the other way round for memory that
// malloc painted when it was freed, and realloc handed out), and left-overs of pointers or host addresses. Both are
// padding that host code never wrote. `recorded` has three calls.
OrRefusal<std::vector<sassay::v1::Step>> CompareSteady(const RecordedSteps& recorded);

// The steps of the first call that are not steady work, in order, as positions in it. An allocation counts as steady
// if one of the same size from the same source line is.
std::vector<size_t> SetupPositions(const RecordedSteps& recorded, const std::vector<sassay::v1::Step>& steady);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_PLAN_COMPARE_H_
