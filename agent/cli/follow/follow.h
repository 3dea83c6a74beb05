// From a bundle to a verdict on the screen: upload, submit, follow, cancel on Ctrl-C.
#ifndef SASSAY_AGENT_CLI_FOLLOW_FOLLOW_H_
#define SASSAY_AGENT_CLI_FOLLOW_FOLLOW_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/cli/session.h"
#include "agent/submit/from_settings.h"
#include "sassay/v1/profiler.pb.h"

namespace sassay::agent {

// Uploads the bundle, submits it, shows progress and the verdict; returns the exit status. The first Ctrl-C cancels the
// submission and waits shortly for its CANCELLED verdict, the second leaves. With `detach` it leaves as soon as the
// submission is durable and prints its id. Artifacts of the verdict are saved in --artifacts, or else in `folder`.
int SubmitBundle(Session& session, absl::string_view bundle_bytes, v1::ProfileRequest request, bool detach,
                 const std::string& folder = "");

// Submits a bundle that the service already holds; `request` names it.
int SubmitKnownBundle(Session& session, v1::ProfileRequest request);

// Shows a submission's remaining progress and its verdict. Ctrl-C leaves; the submission goes on.
int FollowExisting(Session& session, const std::string& submission_id);

// A submission's verdict without showing anything; waits for it.
absl::StatusOr<v1::Verdict> FetchVerdict(Session& session, const std::string& submission_id);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_FOLLOW_FOLLOW_H_
