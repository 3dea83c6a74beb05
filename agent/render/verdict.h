// A verdict for people: first what to know, then what to repair, then what to trust.
#ifndef SASSAY_AGENT_RENDER_VERDICT_H_
#define SASSAY_AGENT_RENDER_VERDICT_H_

#include <string>

#include "common/terminal/style.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::agent {

// Several lines, ended by a newline. Sections without content are left out; foreign text is made printable.
std::string RenderVerdict(const v1::Verdict& verdict, const Style& style);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_RENDER_VERDICT_H_
