// What is inside a bundle, read from its bytes alone.
#ifndef SASSAY_AGENT_CLI_BUILD_INSPECT_BUNDLE_H_
#define SASSAY_AGENT_CLI_BUILD_INSPECT_BUNDLE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {

// Registers, parameters, shared memory and limits come from the cubin; spills and SASS families are the compiler's
// words, which the bundle carries. Where the two disagree the cubin wins and a warning says so. INVALID_ARGUMENT for
// bytes that are no canonical bundle; a cubin that cannot be read is a warning.
absl::StatusOr<v1::Inspection> InspectBundle(absl::string_view untrusted_bytes);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_BUILD_INSPECT_BUNDLE_H_
