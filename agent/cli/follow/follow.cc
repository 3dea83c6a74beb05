#include "agent/cli/follow/follow.h"

#include "agent/cli/follow/follower.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"

namespace sassay::agent {

int SubmitBundle(Session& session, absl::string_view bundle_bytes, v1::ProfileRequest request, bool detach,
                 const std::string& folder) {
  auto connection = session.Connect();
  if (!connection.ok()) return session.Fail(connection.status());
  request.set_bundle_sha256(Sha256Hex(bundle_bytes));
  Follower follower(session, *std::move(connection), OnInterrupt::kCancel, folder);
  return detach ? follower.Detach(bundle_bytes, request) : follower.Submit(bundle_bytes, request);
}

int SubmitKnownBundle(Session& session, v1::ProfileRequest request) {
  auto connection = session.Connect();
  if (!connection.ok()) return session.Fail(connection.status());
  return Follower(session, *std::move(connection), OnInterrupt::kCancel).Submit("", request);
}

int FollowExisting(Session& session, const std::string& submission_id) {
  auto connection = session.Connect();
  if (!connection.ok()) return session.Fail(connection.status());
  return Follower(session, *std::move(connection), OnInterrupt::kLeave).Attach(submission_id);
}

absl::StatusOr<v1::Verdict> FetchVerdict(Session& session, const std::string& submission_id) {
  ASSIGN_OR_RETURN(const auto connection, session.Connect());
  Stopper stopper;
  return Submission(*connection, RetryPolicy(), stopper, SubmissionListener()).Attach(submission_id);
}

}  // namespace sassay::agent
