#include "agent/cli/follow/follow.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/cli/follow/follower.h"
#include "agent/render/text.h"
#include "agent/submit/calls.h"
#include "common/base/proto_json.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "common/base/suggest.h"

namespace sassay::agent {
namespace {

constexpr v1::Stage kStages[] = {v1::STAGE_ADMISSION, v1::STAGE_EVALUATE, v1::STAGE_SANITIZE, v1::STAGE_EVIDENCE,
                                 v1::STAGE_TIMING};

absl::StatusOr<v1::Stage> ParseStage(const std::string& name) {
  std::vector<std::string> names;
  for (const v1::Stage stage : kStages) {
    names.push_back(LowerCase(EnumName(stage)));
    if (names.back() == LowerCase(name)) return stage;
  }
  return absl::InvalidArgumentError(absl::StrCat("--stages: there is no stage \"", name, "\"; there are ",
                                                 absl::StrJoin(names, ", "), ".", DidYouMean(name, names)));
}

constexpr v1::Diagnosis kDiagnoses[] = {v1::DIAGNOSIS_NCU, v1::DIAGNOSIS_HOTSPOTS, v1::DIAGNOSIS_DEBUG};

absl::StatusOr<v1::Diagnosis> ParseDiagnosis(const std::string& name) {
  std::vector<std::string> names;
  for (const v1::Diagnosis diagnosis : kDiagnoses) {
    names.push_back(LowerCase(EnumName(diagnosis)));
    if (names.back() == LowerCase(name)) return diagnosis;
  }
  return absl::InvalidArgumentError(absl::StrCat("--diagnose: there is no diagnosis \"", name, "\"; there are ",
                                                 absl::StrJoin(names, ", "), ".", DidYouMean(name, names)));
}

v1::SanitizePolicy ParsePolicy(const std::string& name) {
  if (name == "none") return v1::SANITIZE_POLICY_NONE;
  if (name == "fast") return v1::SANITIZE_POLICY_FAST;
  return name == "full" ? v1::SANITIZE_POLICY_FULL : v1::SANITIZE_POLICY_UNSPECIFIED;
}

void SetDuration(google::protobuf::Duration& proto, absl::Duration duration) {
  proto.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  proto.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
}

}  // namespace

absl::StatusOr<v1::ProfileRequest> MakeRequest(const Settings& settings, const std::string& workload) {
  v1::ProfileRequest request;
  request.set_request_id(NewRequestId());
  request.set_workload(workload);
  for (const std::string& name : settings.List("stages")) {
    ASSIGN_OR_RETURN(const v1::Stage stage, ParseStage(name));
    request.add_stages(stage);
  }
  request.set_sanitize(ParsePolicy(settings.Text("sanitize")));
  if (settings.Text("baseline") == "itself") request.set_baseline(v1::BASELINE_CHOICE_ITSELF);
  for (const std::string& name : settings.List("diagnose")) {
    ASSIGN_OR_RETURN(const v1::Diagnosis diagnosis, ParseDiagnosis(name));
    request.add_diagnose(diagnosis);
  }
  const absl::Duration queue = settings.Duration("queue_deadline", absl::ZeroDuration());
  const absl::Duration run = settings.Duration("run_deadline", absl::ZeroDuration());
  if (queue > absl::ZeroDuration()) SetDuration(*request.mutable_queue_deadline(), queue);
  if (run > absl::ZeroDuration()) SetDuration(*request.mutable_run_deadline(), run);
  return request;
}

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
