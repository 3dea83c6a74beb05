// Our own messages' values as text; what is common to all programs is in common/terminal/text.h.
#ifndef SASSAY_AGENT_RENDER_TEXT_H_
#define SASSAY_AGENT_RENDER_TEXT_H_

#include <string>

#include "common/terminal/text.h"
#include "sassay/v1/plan.pb.h"

namespace sassay::agent {

// "(16, 4, 1)".
std::string Dim3Text(const v1::Dim3& dim);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_RENDER_TEXT_H_
