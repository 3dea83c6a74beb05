// Follows one submission to its verdict, whatever happens to the connection.
#ifndef SASSAY_AGENT_SUBMIT_SUBMISSION_H_
#define SASSAY_AGENT_SUBMIT_SUBMISSION_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/submit/connection.h"
#include "agent/submit/retry.h"
#include "common/rpc/stopper.h"

namespace sassay::agent {

// Who wants to know. Called from the thread that follows; each event once, in order.
struct SubmissionListener {
  std::function<void(const v1::Event&)> on_event = [](const v1::Event&) {};
  // "connection lost (…), attaching again".
  std::function<void(absl::string_view)> on_note = [](absl::string_view) {};
};

// One submission.
//
// Life cycle: Profile or Attach once; both block until the last event. The verdict they return is the one that counts:
// its timing is MEASURED once it was settled (a warning of the settlement is added), a verdict whose attempt was
// excluded and run again is forgotten, and where the exclusion is the last word, Verdict.excluded says so. When the
// stream breaks, the submission is found
// again: by Attach after the last event seen, or, if not even Accepted had arrived, by the same request_id, so nothing
// is submitted twice. What was never reached is not retried: a wrong address fails at once. Whoever has had an answer
// on this connection already (an upload's) says so by ServiceAnswered. Threads: id() from any thread; the rest from
// one. Failure: the service's refusal as FromGrpc gives it; UNAVAILABLE after the policy's patience; CANCELLED by the
// stopper; DATA_LOSS if the service's events have a gap.
class Submission {
 public:
  Submission(Connection& connection, const RetryPolicy& policy, Stopper& stopper, SubmissionListener listener);

  absl::StatusOr<v1::Verdict> Profile(const v1::ProfileRequest& request);
  absl::StatusOr<v1::Verdict> Attach(const std::string& submission_id, uint64_t after_sequence = 0);
  // Submits and leaves as soon as the submission is durable; returns its Accepted event.
  absl::StatusOr<v1::Event> Detach(const v1::ProfileRequest& request);

  // Before Profile or Detach: the service is known to be there, so a call that breaks before its first event is
  // repeated.
  void ServiceAnswered() { reached_ = true; }

  // Empty until the service has told it.
  std::string id() const;

 private:
  using Reader = grpc::ClientReaderInterface<v1::Event>;
  absl::StatusOr<v1::Verdict> Follow();
  std::unique_ptr<Reader> OpenStream(grpc::ClientContext& context);
  // Reads one stream to its end, or to the first event if detached. `contacted` becomes true if an event arrived.
  grpc::Status ReadStream(bool& contacted);
  absl::Status TakeEvent(const v1::Event& event);
  absl::Status TakeExclusion(const v1::Excluded& excluded);
  void TakeSettlement(const v1::TimingSettled& settled);
  bool Done() const { return detached_ ? accepted_.has_accepted() : has_verdict_ && ended_; }

  Connection& connection_;
  Stopper& stopper_;
  Backoff backoff_;
  const SubmissionListener listener_;
  v1::ProfileRequest request_;
  uint64_t last_sequence_ = 0;
  bool detached_ = false;
  bool reached_ = false;
  bool has_verdict_ = false;  // of the newest attempt that has one and counts
  bool ended_ = false;        // the last event was seen
  v1::Event accepted_;
  v1::Verdict verdict_;
  absl::Status protocol_;
  mutable absl::Mutex mutex_;
  std::string id_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_SUBMIT_SUBMISSION_H_
