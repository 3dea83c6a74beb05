// What is inside a bundle, for people.
#ifndef SASSAY_AGENT_RENDER_INSPECTION_H_
#define SASSAY_AGENT_RENDER_INSPECTION_H_

#include <string>

#include "common/terminal/style.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {

// Kernels, and per plan its buffers, tensor maps and steps. Long lists are cut, and say so. The inspection may come
// from hostile bytes: indices are checked and text is made printable.
std::string RenderInspection(const v1::Inspection& inspection, const Style& style);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_RENDER_INSPECTION_H_
