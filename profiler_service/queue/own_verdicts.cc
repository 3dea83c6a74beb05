#include "profiler_service/queue/own_verdicts.h"

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"

namespace sassay::queue {

using sassay::v1::Verdict;

Verdict OwnVerdict(const sassay::v1::ProfileRequest& request, sassay::v1::VerdictStatus status,
                   sassay::v1::VerdictCode code, absl::string_view reason, uint32_t attempt, absl::Time now) {
  Verdict verdict;
  verdict.set_status(status);
  verdict.set_code(code);
  verdict.set_reason(std::string(reason));
  verdict.set_workload(request.workload());
  verdict.set_bundle_sha256(request.bundle_sha256());
  verdict.set_attempt(attempt);
  verdict.mutable_versions()->set_sassay(SASSAY_VERSION);
  SetTimestamp(now, *verdict.mutable_decided_at());
  return verdict;
}

Verdict CancelledVerdict(const sassay::v1::ProfileRequest& request, uint32_t attempt, absl::Time now) {
  return OwnVerdict(request, sassay::v1::VERDICT_STATUS_CANCELLED, sassay::v1::VERDICT_CODE_CANCELLED_BY_CLIENT,
                    "cancelled by the client", attempt, now);
}

Verdict QueueDeadlineVerdict(const store::Submission& submission, absl::Time now) {
  return OwnVerdict(
      submission.request, sassay::v1::VERDICT_STATUS_INFRA_ERROR, sassay::v1::VERDICT_CODE_QUEUE_DEADLINE,
      absl::StrCat("waited ", absl::FormatDuration(now - submission.accepted_at),
                   " in the queue, past its queue_deadline; submit again, with a longer one if the service is busy"),
      submission.attempt, now);
}

Verdict GivenUpVerdict(const store::Submission& submission, uint32_t losses, absl::Time now) {
  return OwnVerdict(submission.request, sassay::v1::VERDICT_STATUS_INFRA_ERROR, sassay::v1::VERDICT_CODE_INTERNAL,
                    absl::StrCat("the process that ran it crashed ", losses,
                                 " times in a row; it is not tried again (the service's log tells why)"),
                    submission.attempt, now);
}

bool WorthRetrying(const Verdict& verdict) {
  if (verdict.status() != sassay::v1::VERDICT_STATUS_INFRA_ERROR) return false;
  switch (verdict.code()) {
    case sassay::v1::VERDICT_CODE_RUNNER_LOST:
    case sassay::v1::VERDICT_CODE_JUDGE_LOST:
    case sassay::v1::VERDICT_CODE_DEVICE_LOST:
    case sassay::v1::VERDICT_CODE_INTERNAL:
      return true;
    default:
      return false;
  }
}

}  // namespace sassay::queue
