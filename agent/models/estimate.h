// Tokens, where nobody counts them.
#ifndef SASSAY_AGENT_MODELS_ESTIMATE_H_
#define SASSAY_AGENT_MODELS_ESTIMATE_H_

#include "agent/models/model.h"

namespace sassay::agent {

// Fills in answer.usage from the sizes of texts, four bytes to a token, and marks it as estimated.
void EstimateUsage(const GenerationRequest& request, v1::Answered& answer);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_MODELS_ESTIMATE_H_
