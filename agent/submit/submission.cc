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
  has_verdict_ = event.has_verdict();
  if (has_verdict_) verdict_ = event.verdict();
  listener_.on_event(event);
  return absl::OkStatus();
}

}  // namespace sassay::agent
