#include "agent/submit/from_settings.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/submit/calls.h"
#include "common/base/proto_json.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/suggest.h"
#include "common/terminal/text.h"

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

absl::Status AddReuse(const Settings& settings, v1::ProfileRequest& request) {
  const absl::Duration max_age = settings.Duration("max_age", absl::ZeroDuration());
  request.set_fresh(settings.Switch("fresh"));
  if (max_age <= absl::ZeroDuration()) return absl::OkStatus();
  if (request.fresh()) {
    return absl::InvalidArgumentError(absl::StrCat("--fresh has everything done anew and --max-age (",
                                                   settings.Origin("max_age"),
                                                   ") lets an earlier timing stand; give one of the two."));
  }
  SetDuration(max_age, *request.mutable_max_age());
  return absl::OkStatus();
}

v1::SanitizePolicy ParsePolicy(const std::string& name) {
  if (name == "none") return v1::SANITIZE_POLICY_NONE;
  if (name == "fast") return v1::SANITIZE_POLICY_FAST;
  return name == "full" ? v1::SANITIZE_POLICY_FULL : v1::SANITIZE_POLICY_UNSPECIFIED;
}

}  // namespace

ConnectionOptions ConnectionFrom(const Settings& settings) {
  ConnectionOptions options;
  options.service = settings.Text("service");
  options.ca_file = settings.Text("ca_file");
  options.cert_file = settings.Text("cert_file");
  options.key_file = settings.Text("key_file");
  options.token_file = settings.Text("token_file");
  options.token = settings.Text("token");
  options.insecure = settings.Switch("insecure");
  return options;
}

RetryPolicy RetryPolicyFrom(const Settings& settings) {
  RetryPolicy policy;
  policy.give_up_after = settings.Duration("reconnect_deadline", policy.give_up_after);
  return policy;
}

absl::StatusOr<v1::ProfileRequest> MakeRequest(const Settings& settings, const std::string& workload,
                                               v1::Priority usual) {
  v1::ProfileRequest request;
  request.set_request_id(NewRequestId());
  request.set_workload(workload);
  for (const std::string& name : settings.List("stages")) {
    ASSIGN_OR_RETURN(const v1::Stage stage, ParseStage(name));
    request.add_stages(stage);
  }
  request.set_sanitize(ParsePolicy(settings.Text("sanitize")));
  const std::string priority = settings.Text("priority");
  if (priority != "auto") usual = priority == "batch" ? v1::PRIORITY_BATCH : v1::PRIORITY_INTERACTIVE;
  request.set_priority(usual);
  request.set_gpu_model(settings.Text("gpu_model"));
  if (settings.Text("baseline") == "itself") request.set_baseline(v1::BASELINE_CHOICE_ITSELF);
  for (const std::string& name : settings.List("diagnose")) {
    ASSIGN_OR_RETURN(const v1::Diagnosis diagnosis, ParseDiagnosis(name));
    request.add_diagnose(diagnosis);
  }
  const absl::Duration queue = settings.Duration("queue_deadline", absl::ZeroDuration());
  const absl::Duration run = settings.Duration("run_deadline", absl::ZeroDuration());
  if (queue > absl::ZeroDuration()) SetDuration(queue, *request.mutable_queue_deadline());
  if (run > absl::ZeroDuration()) SetDuration(run, *request.mutable_run_deadline());
  RETURN_IF_ERROR(AddReuse(settings, request));
  return request;
}

absl::StatusOr<v1::ProfileRequest> MakeFreshRequest(const Settings& settings, v1::Priority usual) {
  ASSIGN_OR_RETURN(v1::ProfileRequest request, MakeRequest(settings, "", usual));
  request.clear_max_age();
  request.set_fresh(true);
  return request;
}

}  // namespace sassay::agent
