// A bundle in words that scripts and builders pass on.
#ifndef SASSAY_AGENT_BUILD_COMPILE_RESULT_H_
#define SASSAY_AGENT_BUILD_COMPILE_RESULT_H_

#include "agent/build/builder.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {

// Everything but the path.
v1::CompileResult ResultOf(const BuiltBundle& built);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BUILD_COMPILE_RESULT_H_
