// Wrong numbers: where, by how much, and what such numbers usually come from.
#ifndef SASSAY_AGENT_FEEDBACK_NUMERICS_SECTION_H_
#define SASSAY_AGENT_FEEDBACK_NUMERICS_SECTION_H_

#include "agent/feedback/composer.h"
#include "sassay/v1/verdict.pb.h"
#include "sassay/v1/workload.pb.h"

namespace sassay::agent {

// Per output: count, pattern, worst element with index, expected and actual, relative error against the allowance.
void AddNumerics(const v1::Numerics& numerics, const v1::Workload& workload, Composer& composer);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_FEEDBACK_NUMERICS_SECTION_H_
