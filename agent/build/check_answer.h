// What a builder sent back, held against what it was asked.
#ifndef SASSAY_AGENT_BUILD_CHECK_ANSWER_H_
#define SASSAY_AGENT_BUILD_CHECK_ANSWER_H_

#include <string>

#include "absl/status/statusor.h"
#include "agent/build/builder.h"
#include "sassay/v1/builder.pb.h"

namespace sassay::agent {

// The bundle in `untrusted_bytes`, if it is whole (length and digest as `untrusted_result` says, canonical), was made
// of the input's sources (the template headers may have come along) for `arch`, and has a plan for each workload and
// others only for welcome ones. INVALID_ARGUMENT says what is wrong with it.
absl::StatusOr<BuiltBundle> TakeBundle(const BuildInput& input, const std::string& arch,
                                       const v1::CompileResult& untrusted_result, std::string untrusted_bytes);

// Whether a verdict is one that a build can end with, about a workload that was asked for. INVALID_ARGUMENT.
absl::Status CheckBuildVerdict(const BuildInput& input, const v1::Verdict& untrusted_verdict);

// The failure as it would have been met here: same code, same exit status, same words, but where the machine is spoken
// of: then with `where` before them. A code that nobody knows is UNKNOWN.
absl::Status StatusOf(const v1::CommandFailure& untrusted_failure, absl::string_view where);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BUILD_CHECK_ANSWER_H_
