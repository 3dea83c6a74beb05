#include "profiler_service/queue/queue.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/proto_time.h"
#include "common/base/random.h"
#include "common/base/sha256.h"
#include "common/base/status_macros.h"
#include "profiler_service/queue/bounded.h"
#include "profiler_service/queue/own_verdicts.h"
#include "spdlog/spdlog.h"

namespace sassay::queue {
namespace {

using sassay::v1::Event;
using sassay::v1::ProfileRequest;
using sassay::v1::Verdict;

constexpr size_t kMaxRequestIdCharacters = 128;
constexpr size_t kMaxNameCharacters = 512;
constexpr int kMaxStages = 8;
// Requests are kept: this bounds what the other limits cannot see, fields that this build does not know.
constexpr size_t kMaxRequestBytes = 4096;
constexpr int kOverdueAtOnce = 100;
constexpr int kEventsOfASubmission = 1000;
constexpr absl::Duration kBackOff = absl::Milliseconds(500);

absl::StatusOr<absl::Duration> DeadlineOf(const google::protobuf::Duration* given, absl::string_view field,
                                          absl::Duration fallback, absl::Duration limit) {
  if (given == nullptr) return fallback;
  const absl::Duration duration = absl::Seconds(given->seconds()) + absl::Nanoseconds(given->nanos());
  if (duration > absl::ZeroDuration() && duration <= limit) return duration;
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": expected more than 0 and at most ", absl::FormatDuration(limit), " (--max-",
                   absl::StrReplaceAll(field, {{"_", "-"}}), "), got ", absl::FormatDuration(duration)));
}

absl::Status CheckDiagnostics(const ProfileRequest& request) {
  if (!sassay::v1::SanitizePolicy_IsValid(request.sanitize())) {
    return absl::InvalidArgumentError(
        absl::StrCat("sanitize: expected NONE, FAST or FULL, got enum value ", request.sanitize()));
  }
  if (!sassay::v1::BaselineChoice_IsValid(request.baseline())) {
    return absl::InvalidArgumentError(
        absl::StrCat("baseline: expected UNSPECIFIED or ITSELF, got enum value ", request.baseline()));
  }
  std::set<int> seen;
  for (const int diagnosis : request.diagnose()) {
    if (!sassay::v1::Diagnosis_IsValid(diagnosis) || diagnosis == sassay::v1::DIAGNOSIS_UNSPECIFIED) {
      return absl::InvalidArgumentError(
          absl::StrCat("diagnose: expected NCU, HOTSPOTS or DEBUG, got enum value ", diagnosis));
    }
    if (!seen.insert(diagnosis).second) {
      return absl::InvalidArgumentError(absl::StrCat("diagnose: expected each diagnosis once, got ",
                                                     sassay::v1::Diagnosis_Name(diagnosis), " twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRequest(const ProfileRequest& request) {
  if (request.stages_size() > kMaxStages) {
    return absl::InvalidArgumentError(
        absl::StrCat("stages: expected each stage once, got ", request.stages_size(), " entries"));
  }
  if (request.ByteSizeLong() > kMaxRequestBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the request: expected at most ", kMaxRequestBytes, " bytes, got ", request.ByteSizeLong()));
  }
  if (request.request_id().empty() || request.request_id().size() > kMaxRequestIdCharacters) {
    return absl::InvalidArgumentError(absl::StrCat("request_id: expected 1 to ", kMaxRequestIdCharacters,
                                                   " characters, unique per intention; got ",
                                                   request.request_id().size()));
  }
  if (!IsSha256Hex(request.bundle_sha256())) {
    return absl::InvalidArgumentError(absl::StrCat("bundle_sha256: expected 64 lower-case hex digits, got '",
                                                   absl::CEscape(request.bundle_sha256().substr(0, 80)), "'"));
  }
  if (request.workload().empty() || request.workload().size() > kMaxNameCharacters) {
    return absl::InvalidArgumentError(absl::StrCat("workload: expected 'definition/AXIS=value,...' of at most ",
                                                   kMaxNameCharacters, " characters, got ", request.workload().size()));
  }
  if (request.replay_id().size() > kMaxNameCharacters) {
    return absl::InvalidArgumentError(absl::StrCat("replay_id: expected at most ", kMaxNameCharacters,
                                                   " characters, got ", request.replay_id().size()));
  }
  for (const int stage : request.stages()) {
    if (stage < sassay::v1::STAGE_ADMISSION || stage > sassay::v1::STAGE_TIMING) {
      return absl::InvalidArgumentError(
          absl::StrCat("stages: expected ADMISSION, EVALUATE, SANITIZE, EVIDENCE or TIMING, got enum value ", stage));
    }
  }
  return CheckDiagnostics(request);
}

Queue::Queue(store::Store& store, QueueOptions options, QueueHooks hooks)
    : store_(store),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      owner_(absl::StrCat(getpid(), "-", RandomHex(8))),
      feed_(store) {}

Queue::~Queue() {
  Stop();
  if (timekeeper_.joinable()) timekeeper_.join();
  // Answers come in order: after this one, no callback that knows us is left.
  store_.Renew({}, absl::InfinitePast()).status().IgnoreError();
}

absl::Status Queue::Start(PreviousProcess previous) {
  const bool crashed = previous == PreviousProcess::kCrashed;
  const char* reason = crashed ? "the process that ran it crashed" : "the process that ran it was killed";
  ASSIGN_OR_RETURN(const std::vector<store::Lease> orphans, store_.LeasesExpiredBy(absl::InfiniteFuture()));
  for (const store::Lease& orphan : orphans) {
    RETURN_IF_ERROR(TakeBack(orphan, reason, crashed ? store::Ended::kCrashed : store::Ended::kKilled));
  }
  if (!orphans.empty())
    spdlog::info("recovered {} submissions that were running when the service ended", orphans.size());
  ASSIGN_OR_RETURN(const absl::optional<store::Pause> pause, store_.GetPause());
  if (pause.has_value()) {
    spdlog::warn("paused by {} since {} ({}): nothing is started until ResumeDispatch", pause->actor,
                 absl::FormatTime(pause->at, absl::UTCTimeZone()), pause->reason);
  }
  Remember(pause);
  ASSIGN_OR_RETURN(const store::Depths depths, store_.CountDepths());
  OfferWork(depths.queued);
  timekeeper_ = std::thread([this] { KeepTime(); });
  return absl::OkStatus();
}

void Queue::Stop() {
  absl::MutexLock lock(&mutex_);
  stopping_ = true;
  timer_.SignalAll();
}

bool Queue::stopping() const {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

absl::StatusOr<store::NewSubmission> Queue::Prepare(const std::string& tenant, const ProfileRequest& request) const {
  RETURN_IF_ERROR(CheckRequest(request));
  ASSIGN_OR_RETURN(const absl::Duration wait,
                   DeadlineOf(request.has_queue_deadline() ? &request.queue_deadline() : nullptr, "queue_deadline",
                              options_.default_queue_deadline, options_.max_queue_deadline));
  ASSIGN_OR_RETURN(const absl::Duration run,
                   DeadlineOf(request.has_run_deadline() ? &request.run_deadline() : nullptr, "run_deadline",
                              options_.default_run_deadline, options_.max_run_deadline));
  const absl::Time now = options_.now();
  return store::NewSubmission{absl::StrCat("s", RandomHex(12)), tenant, request, now, now + wait, run, options_.limits};
}

void Queue::Submit(const std::string& tenant, const ProfileRequest& request, store::Callback<store::Submitted> done) {
  absl::StatusOr<store::NewSubmission> submission = Prepare(tenant, request);
  if (!submission.ok()) return done(submission.status());
  const absl::Time deadline = submission->queue_deadline;
  store_.Submit(*std::move(submission),
                [this, deadline, done = std::move(done)](absl::StatusOr<store::Submitted> answer) {
                  if (answer.ok() && answer->created) {
                    hooks_.accepted();
                    OfferWork(1);
                    NoteDeadline(deadline);
                  }
                  done(std::move(answer));
                });
}

absl::StatusOr<absl::optional<std::string>> Queue::FindEarlier(const std::string& tenant,
                                                               const ProfileRequest& request) {
  RETURN_IF_ERROR(CheckRequest(request));
  return store_.FindEarlier(tenant, request);
}

void Queue::Cancel(const std::string& tenant, const std::string& id, store::Callback<bool> done) {
  absl::StatusOr<store::Submission> submission = store_.Get(tenant, id);
  if (!submission.ok()) return done(submission.status());
  const Verdict verdict = CancelledVerdict(submission->request, submission->attempt, options_.now());
  store_.Cancel(tenant, id, verdict, [this, id, done = std::move(done)](absl::StatusOr<store::Cancellation> answer) {
    if (!answer.ok()) return done(answer.status());
    if (answer->verdict.has_value()) Publish(*answer->verdict);
    if (answer->state == store::State::kLeased) {
      absl::MutexLock lock(&mutex_);
      const auto job = running_.find(id);
      if (job != running_.end()) job->second->Interrupt(Interruption::kCancelled);
    }
    done(answer->state != store::State::kFinished);
  });
}

absl::StatusOr<std::shared_ptr<Subscription>> Queue::Subscribe(const std::string& tenant, const std::string& id,
                                                               uint64_t after, std::function<void()> on_ready) {
  ASSIGN_OR_RETURN(store::Submission submission, store_.Get(tenant, id));
  if (after > submission.last_sequence) {
    return absl::InvalidArgumentError(absl::StrCat("after_sequence: expected at most ", submission.last_sequence,
                                                   ", the submission's last event; got ", after));
  }
  std::shared_ptr<Subscription> subscription = feed_.Subscribe(id, after, std::move(on_ready));
  // Looked at again: the verdict may have come before the feed knew of this watcher.
  ASSIGN_OR_RETURN(submission, store_.Get(tenant, id));
  if (submission.state != store::State::kFinished) return subscription;
  feed_.Unsubscribe(id, *subscription);
  if (after == submission.last_sequence) subscription->End();
  return subscription;
}

void Queue::Publish(const absl::StatusOr<Event>& event) {
  if (!event.ok()) return;
  if (event->has_verdict()) hooks_.finished(event->verdict());
  if (event->has_retrying()) hooks_.retried();
  feed_.Publish(*event);
}

// ---- work ----

void Queue::OfferWork(uint64_t count) {
  absl::MutexLock lock(&mutex_);
  offers_ += count;
}

bool Queue::TakeOffer() {
  absl::MutexLock lock(&mutex_, absl::Condition(this, &Queue::WorkOrStop));
  if (stopping_) return false;
  --offers_;
  return true;
}

void Queue::BackOff() {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kBackOff);
}

std::shared_ptr<RunningJob> Queue::Register(store::Lease lease) {
  const absl::Time deadline = options_.now() + lease.submission.run_deadline;
  auto append = [this](const store::Lease& held, Event event) {
    store_.Append(held, std::move(event), [this](absl::StatusOr<Event> appended) { Publish(appended); });
  };
  auto job =
      std::make_shared<RunningJob>(std::move(lease), deadline, options_.now, std::move(append), hooks_.stage_finished);
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<RunningJob>& slot = running_[job->lease().submission.id];
  if (slot != nullptr) slot->Interrupt(Interruption::kLeaseLost);
  if (interrupting_) job->Interrupt(Interruption::kStopping);
  slot = job;
  return job;
}

absl::StatusOr<std::shared_ptr<RunningJob>> Queue::Acquire() {
  const absl::Time now = options_.now();
  return store::Await<std::shared_ptr<RunningJob>>([&](store::Callback<std::shared_ptr<RunningJob>> done) {
    // Registered before the store answers any later write, so that a cancellation finds the job.
    auto registered = [this, done = std::move(done)](absl::StatusOr<absl::optional<store::Lease>> lease) {
      if (!lease.ok()) return done(lease.status());
      done(lease->has_value() ? Register(**std::move(lease)) : nullptr);
    };
    store_.Acquire(owner_, now, now + options_.lease, std::move(registered));
  });
}

std::shared_ptr<RunningJob> Queue::Next() {
  while (TakeOffer()) {
    absl::StatusOr<std::shared_ptr<RunningJob>> job = Acquire();
    if (job.ok() && *job != nullptr) return *std::move(job);
    if (job.ok()) continue;
    spdlog::error("cannot lease a submission, trying again: {}", job.status().ToString());
    hooks_.store_failed();
    OfferWork(1);
    BackOff();
  }
  return nullptr;
}

absl::Status Queue::Finish(const store::Lease& lease, const Verdict& verdict) {
  return store::Await<Event>([&](store::Callback<Event> done) {
           store_.Finish(lease, verdict, [this, done = std::move(done)](absl::StatusOr<Event> event) {
             Publish(event);
             done(std::move(event));
           });
         })
      .status();
}

absl::Status Queue::Return(const store::Lease& lease, absl::string_view reason, store::Ended ended) {
  return store::Await<Event>([&](store::Callback<Event> done) {
           store_.Return(lease, reason, ended, options_.now(),
                         [this, done = std::move(done)](absl::StatusOr<Event> event) {
                           Publish(event);
                           if (event.ok()) OfferWork(1);
                           done(std::move(event));
                         });
         })
      .status();
}

absl::Status Queue::CancelIfPromised(const store::Lease& lease, const absl::Status& attempted) {
  if (!absl::IsFailedPrecondition(attempted)) return attempted;
  return Finish(lease, CancelledVerdict(lease.submission.request, lease.submission.attempt, options_.now()));
}

Verdict Queue::Complete(const RunningJob& job, Verdict verdict) const {
  const store::Submission& submission = job.lease().submission;
  const bool unasked =
      verdict.status() == sassay::v1::VERDICT_STATUS_CANCELLED && job.interruption() != Interruption::kCancelled;
  if (unasked) {  // what the stages saw until then stays
    verdict.set_status(sassay::v1::VERDICT_STATUS_INFRA_ERROR);
    verdict.set_code(sassay::v1::VERDICT_CODE_INTERNAL);
    verdict.set_reason(absl::StrCat("the stages were given up ", absl::FormatDuration(options_.now() - job.deadline()),
                                    " after run_deadline"));
  }
  BoundVerdict(verdict);
  verdict.set_submission_id(submission.id);
  verdict.set_attempt(submission.attempt);
  SetTimestamp(options_.now(), *verdict.mutable_decided_at());
  return verdict;
}

absl::Status Queue::Settle(RunningJob& job, const Verdict& verdict) {
  const store::Lease& lease = job.lease();
  const Interruption interruption = job.interruption();
  if (interruption == Interruption::kStopping) {
    return CancelIfPromised(lease, Return(lease, "the service was stopped", store::Ended::kStopped));
  }
  const bool again = interruption == Interruption::kNone && WorthRetrying(verdict) &&
                     lease.submission.failures + 1 < options_.max_attempts;
  if (again) return CancelIfPromised(lease, Return(lease, verdict.reason(), store::Ended::kFailed));
  return CancelIfPromised(lease, Finish(lease, verdict));
}

void Queue::Conclude(RunningJob& job, Verdict verdict) {
  const std::string id = job.lease().submission.id;
  const Verdict complete = Complete(job, std::move(verdict));
  absl::Status settled = Settle(job, complete);
  while (absl::IsUnavailable(settled) && !stopping()) {
    spdlog::error("cannot store what became of {}, trying again: {}", id, settled.ToString());
    hooks_.store_failed();
    BackOff();
    settled = Settle(job, complete);
  }
  if (!settled.ok()) spdlog::warn("attempt {} of {} publishes nothing: {}", complete.attempt(), id, settled.ToString());
  absl::MutexLock lock(&mutex_);
  const auto registered = running_.find(id);
  if (registered != running_.end() && registered->second.get() == &job) running_.erase(registered);
}

std::vector<std::string> Queue::EarlierDevices(const store::Submission& submission) {
  std::vector<std::string> devices;
  if (submission.failures == 0) return devices;
  const auto events = store_.Events(submission.id, 0, kEventsOfASubmission);
  if (!events.ok()) return devices;
  std::string current;
  for (const Event& event : *events) {
    if (!event.stage_started().device().empty()) current = event.stage_started().device();
    if (!event.has_retrying() || current.empty()) continue;
    if (std::find(devices.begin(), devices.end(), current) == devices.end()) devices.push_back(current);
    current.clear();
  }
  return devices;
}

void Queue::InterruptAll() {
  absl::MutexLock lock(&mutex_);
  interrupting_ = true;
  for (auto& [id, job] : running_) job->Interrupt(Interruption::kStopping);
}

size_t Queue::running() const {
  absl::MutexLock lock(&mutex_);
  return running_.size();
}

absl::Status Queue::Pause(const store::Pause& pause) {
  RETURN_IF_ERROR(store_.SetPause(pause));
  Remember(pause);
  return absl::OkStatus();
}

absl::Status Queue::Resume() {
  RETURN_IF_ERROR(store_.SetPause(absl::nullopt));
  Remember(absl::nullopt);
  return absl::OkStatus();
}

void Queue::Remember(absl::optional<store::Pause> pause) {
  absl::MutexLock lock(&mutex_);
  pause_ = std::move(pause);
}

absl::optional<store::Pause> Queue::pause() const {
  absl::MutexLock lock(&mutex_);
  return pause_;
}

// ---- time ----

absl::Status Queue::TakeBack(const store::Lease& lease, absl::string_view reason, store::Ended ended) {
  const store::Submission& submission = lease.submission;
  const uint32_t losses = submission.losses + (ended == store::Ended::kCrashed ? 1 : 0);
  absl::Status status;
  if (submission.cancelling) {
    status = Finish(lease, CancelledVerdict(submission.request, submission.attempt, options_.now()));
  } else if (ended == store::Ended::kCrashed && losses >= options_.max_losses) {
    status = Finish(lease, GivenUpVerdict(submission, losses, options_.now()));
  } else {
    status = CancelIfPromised(lease, Return(lease, reason, ended));
  }
  return absl::IsAborted(status) ? absl::OkStatus() : status;
}

void Queue::RenewLeases() {
  std::vector<std::shared_ptr<RunningJob>> jobs;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [id, job] : running_) jobs.push_back(job);
  }
  if (jobs.empty()) return;
  std::vector<store::Lease> leases;
  leases.reserve(jobs.size());
  for (const auto& job : jobs) leases.push_back(job->lease());
  const auto renewals = store_.Renew(leases, options_.now() + options_.lease);
  if (!renewals.ok()) {
    spdlog::error("cannot renew {} leases: {}", leases.size(), renewals.status().ToString());
    return;
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    if ((*renewals)[i] == store::Renewal::kCancelling) jobs[i]->Interrupt(Interruption::kCancelled);
    if ((*renewals)[i] == store::Renewal::kLost) jobs[i]->Interrupt(Interruption::kLeaseLost);
    jobs[i]->InterruptIfOverdue();
  }
}

void Queue::TakeBackExpired() {
  const auto expired = store_.LeasesExpiredBy(options_.now());
  if (!expired.ok()) return;
  for (const store::Lease& lease : *expired) {
    const absl::Status status =
        TakeBack(lease, "the process that ran it was not heard of for too long", store::Ended::kCrashed);
    if (!status.ok()) {
      spdlog::error("cannot take back {}: {}", lease.submission.id, status.ToString());
    }
  }
}

void Queue::EndOverdue() {
  const absl::Time now = options_.now();
  for (;;) {
    const auto overdue = store_.PastQueueDeadline(now, kOverdueAtOnce);
    if (!overdue.ok() || overdue->empty()) return;
    for (const store::Submission& submission : *overdue) {
      const absl::Status ended = store::Await<Event>([&](store::Callback<Event> done) {
                                   store_.FinishQueued(submission.id, QueueDeadlineVerdict(submission, now),
                                                       [this, done = std::move(done)](absl::StatusOr<Event> event) {
                                                         Publish(event);
                                                         done(std::move(event));
                                                       });
                                 }).status();
      if (!ended.ok() && !absl::IsAborted(ended)) return;
    }
  }
}

void Queue::Tick() {
  RenewLeases();
  TakeBackExpired();
  EndOverdue();
}

absl::Duration Queue::UntilNextTick() {
  const auto deadline = store_.NextQueueDeadline();
  const absl::Duration until_deadline = deadline.ok() ? *deadline - options_.now() : absl::InfiniteDuration();
  return std::clamp(until_deadline, absl::ZeroDuration(), options_.lease / 3);
}

void Queue::NoteDeadline(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  earliest_noted_ = std::min(earliest_noted_, deadline);
  if (deadline < next_tick_) timer_.SignalAll();
}

void Queue::KeepTime() {
  while (!stopping()) {
    Tick();
    const absl::Duration until_deadline = UntilNextTick();
    absl::MutexLock lock(&mutex_);
    // What was noted since the store was asked is not in its answer.
    const absl::Time now = options_.now();
    next_tick_ = std::min(now + until_deadline, std::exchange(earliest_noted_, absl::InfiniteFuture()));
    if (!stopping_ && next_tick_ > now) timer_.WaitWithTimeout(&mutex_, next_tick_ - now);
  }
}

}  // namespace sassay::queue
