// What would make a correct kernel faster, from what was measured; most worth first.
#ifndef SASSAY_AGENT_FEEDBACK_NEXT_STEPS_H_
#define SASSAY_AGENT_FEEDBACK_NEXT_STEPS_H_

#include <string>
#include <vector>

#include "agent/feedback/feedback.h"

namespace sassay::agent {

// The GPU as far as hints need it; from Versions.device ("NVIDIA H200", "emulated sm_90a"). `multiprocessors` is 0 for
// a GPU that no table knows.
struct TargetGpu {
  std::string arch;
  uint32_t multiprocessors = 0;
};
TargetGpu TargetGpuOf(const v1::Versions& versions);

// Sentences, each a fact with what follows from it.
std::vector<std::string> NextSteps(const FeedbackInput& input);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_FEEDBACK_NEXT_STEPS_H_
