// What a model is told about its candidate: made to be acted on, bounded in length.
#ifndef SASSAY_AGENT_FEEDBACK_FEEDBACK_H_
#define SASSAY_AGENT_FEEDBACK_FEEDBACK_H_

#include <cstdint>
#include <optional>
#include <string>

#include "sassay/v1/trajectory.pb.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// One turn's outcome. Exactly one of `verdict` and a failed `extracted` decides.
struct FeedbackInput {
  const v1::Workload* workload = nullptr;
  // What the answer held.
  const v1::Extracted* extracted = nullptr;
  // Null where the answer held no candidate. Never INFRA_ERROR, CANCELLED or excluded: such turns wait and are run
  // again; FeedbackText CHECKs it.
  const v1::Verdict* verdict = nullptr;
  // Null where it never compiled: registers, spills, shared memory, SASS families.
  const v1::Submitted* submitted = nullptr;
  // The candidate's text; empty if there is none.
  std::string source;
  // From 0.
  uint32_t turn = 0;
  uint32_t turn_limit = 0;
  double target_speedup = 0;
  // The best of the turns before this one.
  std::optional<double> best_speedup;
};

struct FeedbackOptions {
  // Longer texts are cut at their least important parts, and say so.
  size_t max_bytes = 8000;
};

// Plain text. Foreign text in it (compiler messages, device output) is bounded, printable and quoted as such.
std::string FeedbackText(const FeedbackInput& input, const FeedbackOptions& options = {});

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_FEEDBACK_FEEDBACK_H_
