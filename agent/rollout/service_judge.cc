#include "agent/rollout/service_judge.h"

#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/build/local_verdict.h"
#include "agent/feedback/launch_shapes.h"
#include "agent/submit/calls.h"
#include "agent/submit/submission.h"
#include "agent/submit/upload.h"
#include "common/base/proto_json.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/bundle/bundle.h"
#include "common/process/thread_stop.h"
#include "common/terminal/text.h"

namespace sassay::agent {
namespace {

// How long a cancelled submission's end is waited for.
constexpr absl::Duration kCancelPatience = absl::Seconds(10);

absl::Status Closed() { return absl::CancelledError("stopped before the candidate's turn came."); }

v1::Submitted Describe(const JudgeJob& job, const BuiltBundle& built, const std::string& sha256) {
  v1::Submitted submitted;
  submitted.set_request_id(job.request_id);
  submitted.set_bundle_sha256(sha256);
  SetDuration(built.compile_time, *submitted.mutable_compile());
  SetDuration(built.capture_time, *submitted.mutable_capture());
  submitted.mutable_kernels()->Add(built.kernels.begin(), built.kernels.end());
  const v1::LaunchPlan* plan = FindPlan(built.bundle, job.workload->name());
  if (plan == nullptr) return submitted;
  for (v1::LaunchShape& shape : LaunchShapes(*plan)) *submitted.add_launches() = std::move(shape);
  return submitted;
}

v1::Verdict TooLarge(const JudgeJob& job, const BuiltBundle& built, uint64_t most) {
  v1::Verdict verdict;
  verdict.set_status(v1::VERDICT_STATUS_COMPILE_ERROR);
  verdict.set_code(v1::VERDICT_CODE_COMPILE_LIMIT);
  verdict.set_stage(v1::STAGE_COMPILE);
  verdict.set_reason(absl::StrCat("the compiled kernel takes ", BytesText(built.bytes.size()), "; at most ",
                                  BytesText(most),
                                  " are accepted. Large initialised arrays, or very much inlined or "
                                  "unrolled code, make it so large."));
  CompleteLocalVerdict(*job.workload, {built.compile_time, built.capture_time}, absl::Now(), verdict);
  return verdict;
}

// Follows one submission's events for its listener.
class Story {
 public:
  explicit Story(const JudgeListener& listener) : listener_(listener) {}

  void Take(const v1::Event& event) {
    if (event.has_accepted()) listener_.on_accepted(event.submission_id());
    if (event.has_accepted() || event.has_retrying() || event.has_excluded()) waiting_since_ = TimeOf(event.at());
    if (event.has_verdict()) verdict_ = event.verdict();
    if (event.has_stage_started()) Started(event);
    if (event.has_accepted() || event.has_retrying()) listener_.on_step("queued");
    if (event.has_excluded() && event.excluded().rerun()) Excluded(event.excluded());
  }
  absl::Duration queued() const { return queued_; }

 private:
  void Started(const v1::Event& event) {
    if (waiting_since_ != absl::InfiniteFuture()) queued_ += TimeOf(event.at()) - waiting_since_;
    waiting_since_ = absl::InfiniteFuture();
    listener_.on_step(LowerCase(EnumName(event.stage_started().stage())));
  }
  void Excluded(const v1::Excluded& excluded) {
    v1::AttemptExcluded attempt;
    *attempt.mutable_excluded() = excluded;
    if (verdict_.attempt() == excluded.attempt()) *attempt.mutable_verdict() = verdict_;
    listener_.on_excluded(attempt);
    listener_.on_step("queued");
  }

  const JudgeListener& listener_;
  v1::Verdict verdict_;
  absl::Time waiting_since_ = absl::InfiniteFuture();
  absl::Duration queued_;
};

// Cancels what a stopped call has left in the service, and waits shortly for its verdict, so that no process works on
// it any more; CANCELLED otherwise. Whoever has no id yet asks for it with the same request, which submits nothing
// twice.
class Cancellation {
 public:
  Cancellation(Connection& connection, const RetryPolicy& retry, Stopper& leave)
      : connection_(connection), retry_(retry), on_leave_(leave, [this] { patience_.Stop(); }), timer_([this] {
          patience_.Sleep(kCancelPatience);
          patience_.Stop();
        }) {}
  ~Cancellation() {
    patience_.Stop();
    timer_.join();
  }

  absl::StatusOr<v1::Verdict> Run(std::string id, const v1::ProfileRequest& request) {
    if (id.empty()) {
      Submission found(connection_, retry_, patience_, {});
      ASSIGN_OR_RETURN(const v1::Event accepted, found.Detach(request));
      id = accepted.submission_id();
    }
    RETURN_IF_ERROR(CancelSubmission(connection_, id, patience_).status());
    ASSIGN_OR_RETURN(v1::Verdict verdict, Submission(connection_, retry_, patience_, {}).Attach(id));
    if (verdict.status() == v1::VERDICT_STATUS_CANCELLED) return absl::CancelledError("cancelled.");
    return verdict;
  }

 private:
  Connection& connection_;
  const RetryPolicy retry_;
  Stopper patience_;
  const Stopper::Callback on_leave_;
  std::thread timer_;
};

}  // namespace

ServiceJudge::ServiceJudge(const Builder& builder, Connection& connection, ServiceJudgeOptions options)
    : builder_(&builder),
      connection_(connection),
      options_(std::move(options)),
      builds_(options_.builds),
      submissions_(options_.submissions) {}

ServiceJudge::ServiceJudge(Connection& connection, ServiceJudgeOptions options)
    : builder_(nullptr),
      connection_(connection),
      options_(std::move(options)),
      builds_(options_.builds),
      submissions_(options_.submissions) {}

void ServiceJudge::Close() {
  builds_.Close();
  submissions_.Close();
}

absl::StatusOr<Judgement> ServiceJudge::Run(const JudgeJob& job, const JudgeListener& listener, Stopper& stopper) {
  ASSIGN_OR_RETURN(BuildOutcome outcome, Build(job, listener, stopper));
  if (auto* verdict = std::get_if<v1::Verdict>(&outcome)) return Judgement{std::move(*verdict), {}};
  BuiltBundle& built = std::get<BuiltBundle>(outcome);
  const uint64_t most = options_.max_bundle_bytes;
  if (most > 0 && built.bytes.size() > most) return Judgement{TooLarge(job, built, most), {}};
  return Submit(job, std::move(built), listener, stopper);
}

absl::StatusOr<BuildOutcome> ServiceJudge::Build(const JudgeJob& job, const JudgeListener& listener, Stopper& stopper) {
  if (!job.bundle.empty()) {
    BuiltBundle built;
    built.bytes = job.bundle;
    ASSIGN_OR_RETURN(built.bundle, ParseBundle(built.bytes));
    return BuildOutcome(std::move(built));
  }
  if (builder_ == nullptr)
    return absl::FailedPreconditionError("there is no compiler here: only bundles can be judged.");
  listener.on_step("waiting to compile");
  const Slots::Place place = builds_.Take();
  if (!place || stopper.stopped()) return Closed();
  BuildInput input;
  input.sources = job.files;
  if (job.files.empty()) {
    v1::SourceFile& file = input.sources.emplace_back();
    file.set_path(job.source_name);
    file.set_content(job.source);
  }
  input.workloads = {*job.workload};
  input.welcome = options_.welcome(*job.workload);
  BuildListener steps;
  steps.on_begin = [&](absl::string_view step, absl::string_view) { listener.on_step(step); };
  const ThreadStop stop([&] { return stopper.stopped(); });
  return builder_->Build(input, steps);
}

absl::StatusOr<Judgement> ServiceJudge::Submit(const JudgeJob& job, BuiltBundle built, const JudgeListener& listener,
                                               Stopper& stopper) {
  v1::ProfileRequest request = options_.request;
  request.set_request_id(job.request_id);
  request.set_workload(job.workload->name());
  request.set_bundle_sha256(BundleDigest(built.bytes));
  RETURN_IF_ERROR(CheckDriversFor(built.bytes, request, options_.devices));
  RETURN_IF_ERROR(listener.on_built(Describe(job, built, request.bundle_sha256())));
  built.bundle.Clear();
  listener.on_step("waiting to submit");
  const Slots::Place place = submissions_.Take();
  if (!place || stopper.stopped()) return Closed();
  listener.on_step("upload");
  RETURN_IF_ERROR(Upload(connection_, built.bytes, request.bundle_sha256(), options_.retry, stopper).status());
  built = BuiltBundle();
  Story story(listener);
  SubmissionListener events;
  events.on_event = [&](const v1::Event& event) { story.Take(event); };
  events.on_note = listener.on_note;
  Submission submission(connection_, options_.retry, stopper, std::move(events));
  submission.ServiceAnswered();
  listener.on_step("queued");
  absl::StatusOr<v1::Verdict> verdict = submission.Profile(request);
  if (!verdict.ok() && stopper.stopped() && options_.cancelling != nullptr)
    verdict = Cancellation(connection_, options_.retry, *options_.cancelling).Run(submission.id(), request);
  if (!verdict.ok()) return verdict.status();
  return Judgement{*std::move(verdict), story.queued()};
}

}  // namespace sassay::agent
