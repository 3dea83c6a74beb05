#include "agent/cli/follow/follower.h"

#include "absl/strings/str_cat.h"
#include "agent/cli/follow/artifacts.h"
#include "agent/cli/follow/replay_journal.h"
#include "agent/render/text.h"
#include "agent/submit/calls.h"
#include "agent/submit/download.h"
#include "agent/submit/from_settings.h"
#include "agent/submit/rpc_error.h"
#include "agent/submit/upload.h"
#include "common/base/status_macros.h"

namespace sassay::agent {
namespace {

// How long the first Ctrl-C waits for the CANCELLED verdict.
constexpr absl::Duration kCancelPatience = absl::Seconds(10);

// The agent itself never changes its working directory, but its tests have one each.
std::filesystem::path ArtifactFolder(const Session& session, const std::string& beside) {
  const std::filesystem::path here = session.terminal().working_directory;
  const std::string& asked = session.settings().Text("artifacts");
  return here / (asked.empty() ? beside : asked);
}

std::string UploadText(const UploadOutcome& outcome, size_t size) {
  if (outcome.already_known) return absl::StrCat(BytesText(size), ", known already");
  return absl::StrCat(BytesText(size),
                      outcome.resumed > 0 ? absl::StrCat(", resumed ", outcome.resumed, " times") : "");
}

}  // namespace

Follower::Follower(Session& session, std::unique_ptr<Connection> connection, OnInterrupt on_interrupt,
                   const std::string& folder)
    : session_(session),
      connection_(std::move(connection)),
      on_interrupt_(on_interrupt),
      folder_(ArtifactFolder(session, folder)),
      policy_(RetryPolicyFrom(session.settings())),
      submission_(*connection_, policy_, stopper_, Listener()) {
  if (session.interactive()) spinner_ = std::make_unique<Spinner>(session.progress());
  interrupts_ = std::make_unique<InterruptHandler>([this](int times) { Interrupted(times); });
}

Follower::~Follower() {
  interrupts_.reset();
  if (!done_.HasBeenNotified()) done_.Notify();
  if (!has_id_.HasBeenNotified()) has_id_.Notify();
  if (canceller_.joinable()) canceller_.join();
}

SubmissionListener Follower::Listener() {
  SubmissionListener listener;
  listener.on_event = [this](const v1::Event& event) {
    if (!has_id_.HasBeenNotified()) has_id_.Notify();
    session_.progress().OnEvent(event);
  };
  listener.on_note = [this](absl::string_view note) { session_.progress().Note(note); };
  return listener;
}

bool Follower::Prepare(absl::string_view bundle_bytes, const v1::ProfileRequest& request, int& exit_status) {
  const absl::StatusOr<v1::GetCapabilitiesResponse> service = GetCapabilitiesFor(*connection_, request, &stopper_);
  absl::Status status = service.status();
  if (status.ok()) status = CheckDriversFor(bundle_bytes, request, service->devices());
  if (status.ok()) status = UploadBundle(bundle_bytes, request.bundle_sha256());
  if (!status.ok()) {
    exit_status = session_.Fail(LeftStatus(status));
    return false;
  }
  if (!bundle_bytes.empty()) submission_.ServiceAnswered();
  absl::MutexLock lock(&mutex_);
  request_id_ = request.request_id();
  return true;
}

std::string Follower::RequestId() const {
  absl::MutexLock lock(&mutex_);
  return request_id_;
}

int Follower::Submit(absl::string_view bundle_bytes, const v1::ProfileRequest& request) {
  int exit_status = 0;
  if (!Prepare(bundle_bytes, request, exit_status)) return exit_status;
  session_.progress().Begin("submit", request.workload());
  return Report(submission_.Profile(request));
}

int Follower::Detach(absl::string_view bundle_bytes, const v1::ProfileRequest& request) {
  int exit_status = 0;
  if (!Prepare(bundle_bytes, request, exit_status)) return exit_status;
  const absl::StatusOr<v1::Event> accepted = submission_.Detach(request);
  if (!accepted.ok()) return session_.Fail(LeftStatus(accepted.status()), submission_.id());
  session_.Answer(*accepted, absl::StrCat(PrintableLine(accepted->submission_id()), "\n"));
  return kExitCorrect;
}

int Follower::Attach(const std::string& submission_id) {
  session_.progress().Begin("attach", submission_id);
  return Report(submission_.Attach(submission_id));
}

absl::Status Follower::UploadBundle(absl::string_view bundle_bytes, const std::string& sha256) {
  if (bundle_bytes.empty()) return absl::OkStatus();
  session_.progress().Begin("upload", BytesText(bundle_bytes.size()));
  ASSIGN_OR_RETURN(const UploadOutcome outcome, Upload(*connection_, bundle_bytes, sha256, policy_, stopper_));
  session_.progress().End("passed", UploadText(outcome, bundle_bytes.size()));
  return absl::OkStatus();
}

int Follower::Report(const absl::StatusOr<v1::Verdict>& verdict) {
  if (!done_.HasBeenNotified()) done_.Notify();
  spinner_.reset();
  if (!verdict.ok()) return session_.Fail(LeftStatus(verdict.status()), submission_.id());
  RememberReplay(session_.terminal().environment, *verdict);
  FetchArtifacts(*verdict);
  return session_.AnswerVerdict(*verdict);
}

void Follower::FetchArtifacts(const v1::Verdict& verdict) {
  SaveArtifacts(
      verdict, folder_,
      [this](const v1::Artifact& artifact) { return Download(*connection_, artifact, policy_, stopper_); },
      [this](absl::string_view line) { session_.progress().Note(line); });
}

absl::Status Follower::LeftStatus(const absl::Status& status) const {
  if (ExitStatusOf(status) != kExitInfrastructure) return status;
  const std::string id = submission_.id(), request_id = RequestId();
  if (!id.empty()) {
    return absl::Status(
        status.code(), absl::StrCat(status.message(), " `mini-ptx-agent attach ", id, "` finds the submission again."));
  }
  if (request_id.empty()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), " Should the service have taken it, the same command with --request-id ",
                   request_id, " finds it instead of submitting again."));
}

void Follower::Interrupted(int times) {
  const std::string id = submission_.id();
  const bool submitted = !id.empty() || !RequestId().empty();
  if (times > 1 || !submitted || on_interrupt_ == OnInterrupt::kLeave) {
    stopper_.Stop();
    return;
  }
  session_.progress().Note(
      absl::StrCat("cancelling ", id.empty() ? "the submission" : id, "; Ctrl-C again leaves at once"));
  canceller_ = std::thread([this] { CancelAndWaitShortly(); });
}

void Follower::CancelAndWaitShortly() {
  // Between the request and Accepted the submission is on its way to be run, and has no name yet.
  if (!has_id_.WaitForNotificationWithTimeout(kCancelPatience) || submission_.id().empty()) return stopper_.Stop();
  const absl::Status status = CancelSubmission(*connection_, submission_.id(), stopper_).status();
  if (!status.ok() && !stopper_.stopped()) session_.progress().Note(std::string(status.message()));
  if (!done_.WaitForNotificationWithTimeout(kCancelPatience)) stopper_.Stop();
}

}  // namespace sassay::agent
