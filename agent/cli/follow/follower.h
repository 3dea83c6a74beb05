// One conversation with the service that Ctrl-C can end.
#ifndef SASSAY_AGENT_CLI_FOLLOW_FOLLOWER_H_
#define SASSAY_AGENT_CLI_FOLLOW_FOLLOWER_H_

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "agent/cli/session.h"
#include "agent/submit/connection.h"
#include "agent/submit/interrupt.h"
#include "common/rpc/stopper.h"
#include "agent/submit/submission.h"

namespace sassay::agent {

// What Ctrl-C means for the submission.
enum class OnInterrupt { kCancel, kLeave };

// Life cycle: one submission each; make it, call Submit or Attach once, let it go.
// Threads: Submit and Attach block; interrupts arrive on a thread of their own.
class Follower {
 public:
  // Artifacts of the verdict are saved in --artifacts, or else in `folder`, or else in the working directory.
  Follower(Session& session, std::unique_ptr<Connection> connection, OnInterrupt on_interrupt,
           const std::string& folder = "");
  ~Follower();

  // Uploads unless `bundle_bytes` is empty, submits and follows. Returns the exit status.
  int Submit(absl::string_view bundle_bytes, const v1::ProfileRequest& request);
  // The same, leaving when the submission is durable.
  int Detach(absl::string_view bundle_bytes, const v1::ProfileRequest& request);
  int Attach(const std::string& submission_id);

 private:
  // Uploads and gets ready to submit; a failure is reported, and its exit status is in `exit_status`.
  bool Prepare(absl::string_view bundle_bytes, const v1::ProfileRequest& request, int& exit_status);
  absl::Status UploadBundle(absl::string_view bundle_bytes, const std::string& sha256);
  int Report(const absl::StatusOr<v1::Verdict>& verdict);
  void FetchArtifacts(const v1::Verdict& verdict);
  absl::Status LeftStatus(const absl::Status& status) const;
  void Interrupted(int times);
  void CancelAndWaitShortly();
  SubmissionListener Listener();

  Session& session_;
  const std::unique_ptr<Connection> connection_;
  const OnInterrupt on_interrupt_;
  const std::filesystem::path folder_;
  const RetryPolicy policy_;
  Stopper stopper_;
  Submission submission_;
  // Of the Profile call that may have reached the service; empty before it.
  std::string RequestId() const;
  mutable absl::Mutex mutex_;
  std::string request_id_ ABSL_GUARDED_BY(mutex_);
  absl::Notification has_id_;
  absl::Notification done_;
  std::thread canceller_;
  std::unique_ptr<Spinner> spinner_;
  std::unique_ptr<InterruptHandler> interrupts_;
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_CLI_FOLLOW_FOLLOWER_H_
