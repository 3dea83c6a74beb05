// What a correct turn's model is told: how fast, how near to what the GPU can do, what holds the kernel back, and what
// would help next. Nothing is guessed: what was not measured is said to be unknown.
#ifndef SASSAY_AGENT_FEEDBACK_SPEED_SECTIONS_H_
#define SASSAY_AGENT_FEEDBACK_SPEED_SECTIONS_H_

#include "agent/feedback/composer.h"
#include "agent/feedback/excerpt.h"
#include "agent/feedback/feedback.h"

namespace sassay::agent {

// Time, speedup, baseline, roofline, and where the target stands.
void AddSpeed(const FeedbackInput& input, Composer& composer);
// Executed instruction families and the tensor cores' share of the work.
void AddExecuted(const v1::Evidence& evidence, Composer& composer);
// Registers, spills, shared memory, grid and estimated occupancy of each kernel.
void AddResources(const FeedbackInput& input, Composer& composer);
// What the profiler measured, where the run asks for diagnoses.
void AddProfile(const v1::Verdict& verdict, const SourceExcerpts& excerpts, Composer& composer);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_FEEDBACK_SPEED_SECTIONS_H_
