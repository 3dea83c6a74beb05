// What is inside a bundle, read from its bytes alone.
#ifndef SASSAY_AGENT_CLI_BUILD_INSPECT_BUNDLE_H_
#define SASSAY_AGENT_CLI_BUILD_INSPECT_BUNDLE_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sass/disassembly.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {

// Counts instruction families of a cubin that nobody vouches for, by kernel; a Status says why it cannot.
using Disassembler = std::function<absl::StatusOr<Disassembly>(absl::string_view untrusted_cubin)>;

// Registers, parameters, shared memory and limits come from the cubin and SASS families from its disassembly; spills
// are the compiler's words, which the bundle carries. Where the bundle's facts and the cubin disagree the cubin wins
// and a warning says so. INVALID_ARGUMENT for bytes that are no canonical bundle; a cubin that cannot be read, or
// cannot be disassembled here, is a warning.
absl::StatusOr<v1::Inspection> InspectBundle(absl::string_view untrusted_bytes, const Disassembler& disassembler);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_BUILD_INSPECT_BUNDLE_H_
