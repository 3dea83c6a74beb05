#include "agent/submit/submission.h"

#include "absl/strings/str_cat.h"
#include "agent/submit/calls.h"
#include "agent/submit/rpc_error.h"
#include "common/base/status_macros.h"

namespace sassay::agent {

Submission::Submission(Connection& connection, const RetryPolicy& policy, Stopper& stopper, SubmissionListener listener)
    : connection_(connection), stopper_(stopper), backoff_(policy, stopper), listener_(std::move(listener)) {}

absl::StatusOr<v1::Verdict> Submission::Profile(const v1::ProfileRequest& request) {
  request_ = request;
  return Follow();
}

absl::StatusOr<v1::Verdict> Submission::Attach(const std::string& submission_id, uint64_t after_sequence) {
  last_sequence_ = after_sequence;
  {
    absl::MutexLock lock(&mutex_);
    id_ = submission_id;
  }
  return Follow();
}

absl::StatusOr<v1::Event> Submission::Detach(const v1::ProfileRequest& request) {
  detached_ = true;
  request_ = request;
  RETURN_IF_ERROR(Follow().status());
  return accepted_;
}

std::string Submission::id() const {
  absl::MutexLock lock(&mutex_);
  return id_;
}

absl::StatusOr<v1::Verdict> Submission::Follow() {
  const std::string doing =
      request_.workload().empty() ? absl::StrCat("follow ", id()) : absl::StrCat("submit ", request_.workload());
  for (bool noted = false;;) {
    bool contacted = false;
    const grpc::Status status = ReadStream(contacted);
    if (Done()) return verdict_;
    RETURN_IF_ERROR(protocol_);
    if (stopper_.stopped()) return absl::CancelledError("stopped before the verdict.");
    reached_ = reached_ || contacted;
    if (contacted) backoff_.Reset();
    if (!status.ok() && (!reached_ || !WorthRetrying(status))) return FromGrpc(status, doing, connection_.service());
    if (contacted || !noted) {
      listener_.on_note(absl::StrCat("connection lost (",
                                     status.ok() ? "the service ended the stream" : PlainCause(status),
                                     "), attaching again"));
    }
    noted = true;
    if (!backoff_.Wait()) {
      return stopper_.stopped()
                 ? absl::CancelledError("stopped before the verdict.")
                 : FromGrpc(grpc::Status(grpc::UNAVAILABLE, status.error_message()), doing, connection_.service());
    }
  }
}

std::unique_ptr<Submission::Reader> Submission::OpenStream(grpc::ClientContext& context) {
  const std::string id = this->id();
  if (id.empty()) return connection_.stub().Profile(&context, request_);
  v1::AttachRequest request;
  request.set_submission_id(id);
  request.set_after_sequence(last_sequence_);
  return connection_.stub().Attach(&context, request);
}

grpc::Status Submission::ReadStream(bool& contacted) {
  const auto context = connection_.NewContext(absl::InfiniteDuration());
  const Stopper::Scope scope(stopper_, *context);
  const auto reader = OpenStream(*context);
  for (v1::Event event; reader->Read(&event);) {
    contacted = true;
    if (!protocol_.ok()) continue;  // what follows a gap
    protocol_ = TakeEvent(event);
    if (!protocol_.ok() || (detached_ && Done())) context->TryCancel();
  }
  return reader->Finish();
}

absl::Status Submission::TakeEvent(const v1::Event& event) {
  if (event.sequence() <= last_sequence_) return absl::OkStatus();
  if (event.sequence() != last_sequence_ + 1) {
    return absl::DataLossError(absl::StrCat("the service's events have a gap: expected number ", last_sequence_ + 1,
                                            ", got ", event.sequence(), "."));
  }
  last_sequence_ = event.sequence();
  {
    absl::MutexLock lock(&mutex_);
    if (id_.empty()) id_ = event.submission_id();
  }
  if (event.has_accepted()) accepted_ = event;
  if (event.has_verdict()) {
    has_verdict_ = true;
    verdict_ = event.verdict();
  }
  if (event.has_timing_settled()) TakeSettlement(event.timing_settled());
  if (event.has_excluded()) RETURN_IF_ERROR(TakeExclusion(event.excluded()));
  ended_ = event.last();
  listener_.on_event(event);
  return absl::OkStatus();
}

void Submission::TakeSettlement(const v1::TimingSettled& settled) {
  if (!has_verdict_ || settled.attempt() != verdict_.attempt()) return;
  if (verdict_.timing().status() == v1::Timing::PROVISIONAL) {
    verdict_.mutable_timing()->set_status(v1::Timing::MEASURED);
  }
  if (!settled.warning().empty()) verdict_.mutable_timing()->add_warnings(settled.warning());
}

absl::Status Submission::TakeExclusion(const v1::Excluded& excluded) {
  if (excluded.rerun()) {
    has_verdict_ = false;
    verdict_.Clear();
    return absl::OkStatus();
  }
  if (!has_verdict_) {
    return absl::DataLossError("the service's events end with an exclusion, but with no verdict that was excluded.");
  }
  *verdict_.mutable_excluded() = excluded.exclusion();
  verdict_.set_scorable(false);
  return absl::OkStatus();
}

}  // namespace sassay::agent
