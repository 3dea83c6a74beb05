#include "profiler_service/queue/queue.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/proto_time.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "profiler_service/queue/bounded.h"
#include "profiler_service/queue/own_verdicts.h"
#include "spdlog/spdlog.h"

namespace sassay::queue {
namespace {

using sassay::v1::Event;
using sassay::v1::ProfileRequest;
using sassay::v1::Verdict;

constexpr int kEventsOfASubmission = 1000;
constexpr absl::Duration kBackOff = absl::Milliseconds(500);
// On a shared store: of workers that look for work at once.
constexpr uint64_t kMostTries = 8;

absl::StatusOr<absl::Duration> DeadlineOf(const google::protobuf::Duration* given, absl::string_view field,
                                          absl::Duration fallback, absl::Duration limit) {
  if (given == nullptr) return fallback;
  const absl::Duration duration = absl::Seconds(given->seconds()) + absl::Nanoseconds(given->nanos());
  if (duration > absl::ZeroDuration() && duration <= limit) return duration;
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": expected more than 0 and at most ", absl::FormatDuration(limit), " (--max-",
                   absl::StrReplaceAll(field, {{"_", "-"}}), "), got ", absl::FormatDuration(duration)));
}

}  // namespace

Queue::Queue(store::Store& store, QueueOptions options, QueueHooks hooks)
    : store_(store),
      options_(std::move(options)),
      hooks_(std::move(hooks)),
      owner_(absl::StrCat(options_.owner_prefix, getpid(), "-", RandomHex(8))),
      feed_(store),
      finality_({options_.now, options_.steady}, [this](const store::Provisional& timing, absl::string_view warning) {
        SettleTiming(timing, warning);
      }) {}

Queue::~Queue() {
  Stop();
  follower_.reset();
  if (timekeeper_.joinable()) timekeeper_.join();
  // Answers come in order: after the first, what was posted has been answered; after the second, what those answers
  // have posted (SettleTiming). Then no callback that knows us is left.
  for (int i = 0; i < 2; ++i) store_.Renew({}, absl::InfinitePast()).status().IgnoreError();
}

absl::Status Queue::Start(PreviousProcess previous) {
  RETURN_IF_ERROR(TakeBackPredecessors(previous));
  RETURN_IF_ERROR(finality_.Start(store_, [this](absl::string_view gpu) { return IsMine(gpu); }));
  if (store_.shared()) {
    follower_ = std::make_unique<Follower>(store_, [this](const store::Changes& changes) { Follow(changes); });
  }
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

void Queue::Submit(const std::string& tenant, const ProfileRequest& request, Placing placing,
                   store::Callback<store::Submitted> done) {
  absl::StatusOr<store::NewSubmission> submission = Prepare(tenant, request);
  if (!submission.ok()) return done(submission.status());
  submission->arch = std::move(placing.arch);
  submission->reuse = std::move(placing.reuse);
  const absl::Time deadline = submission->queue_deadline;
  store_.Submit(*std::move(submission),
                [this, deadline, done = std::move(done)](absl::StatusOr<store::Submitted> answer) {
                  if (answer.ok() && answer->created) Accepted(*answer, deadline);
                  done(std::move(answer));
                });
}

void Queue::Accepted(const store::Submitted& submitted, absl::Time queue_deadline) {
  hooks_.accepted();
  if (submitted.verdict.has_value()) {
    hooks_.reused();
    return Publish(*submitted.verdict);
  }
  OfferWork(1);
  NoteDeadline(queue_deadline);
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
  if (submission.state != store::State::kFinished || submission.provisional) return subscription;
  feed_.Unsubscribe(id, *subscription);
  if (after == submission.last_sequence) subscription->End();
  return subscription;
}

void Queue::Publish(const absl::StatusOr<Event>& event) {
  if (!event.ok()) return;
  if (event->has_verdict()) hooks_.finished(event->verdict());
  if (event->has_retrying()) hooks_.retried();
  if (event->has_timing_settled()) hooks_.settled(event->timing_settled());
  if (event->has_excluded()) {
    finality_.Drop(event->submission_id());
    hooks_.excluded(event->excluded());
    if (event->excluded().rerun()) OfferWork(1);
  }
  feed_.Publish(*event);
  if (event->has_excluded()) exclusions_.Ring();
}

// ---- work ----

void Queue::OfferWork(uint64_t count) {
  absl::MutexLock lock(&mutex_);
  offers_ += count;
  if (store_.shared()) offers_ = std::min(offers_, kMostTries);
}

bool Queue::TakeOffer() {
  absl::MutexLock lock(&mutex_, absl::Condition(this, &Queue::WorkOrStop));
  if (stopping_) return false;
  --offers_;
  ++acquiring_;
  return true;
}

void Queue::SetRoom(uint32_t places) {
  absl::MutexLock lock(&mutex_);
  room_ = places;
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
  NoteState(job->lease().submission.request.workload());
  return job;
}

store::Asker Queue::Asker() const {
  store::Asker asker = options_.asker;
  if (options_.free_models) asker.models = options_.free_models();
  asker.owner = owner_;
  absl::MutexLock lock(&mutex_);
  asker.states = states_;
  return asker;
}

void Queue::NoteState(const std::string& workload) {
  states_.erase(std::remove(states_.begin(), states_.end(), workload), states_.end());
  states_.insert(states_.begin(), workload);
  if (states_.size() > store::Asker::kMostStates) states_.pop_back();
}

absl::StatusOr<std::shared_ptr<RunningJob>> Queue::Acquire() {
  const absl::Time now = options_.now();
  return store::Await<std::shared_ptr<RunningJob>>([&](store::Callback<std::shared_ptr<RunningJob>> done) {
    // Registered before the store answers any later write, so that a cancellation finds the job.
    auto registered = [this, done = std::move(done)](absl::StatusOr<absl::optional<store::Lease>> lease) {
      if (!lease.ok()) return done(lease.status());
      done(lease->has_value() ? Register(**std::move(lease)) : nullptr);
    };
    store_.Acquire(Asker(), now, now + options_.lease, std::move(registered));
  });
}

void Queue::Acquired() {
  absl::MutexLock lock(&mutex_);
  --acquiring_;
}

std::shared_ptr<RunningJob> Queue::Next() {
  while (TakeOffer()) {
    absl::StatusOr<std::shared_ptr<RunningJob>> job = Acquire();
    Acquired();
    if (job.ok() && *job != nullptr) {
      if (store_.shared()) OfferWork(2);  // where one was, more may be
      return *std::move(job);
    }
    if (job.ok()) continue;
    spdlog::error("cannot lease a submission, trying again: {}", job.status().ToString());
    hooks_.store_failed();
    OfferWork(1);
    BackOff();
  }
  return nullptr;
}

absl::Status Queue::Finish(const store::Lease& lease, const Verdict& verdict, const store::Ending& ending) {
  using Events = std::vector<Event>;
  return store::Await<Events>([&](store::Callback<Events> done) {
           store_.Finish(lease, verdict, ending, [this, ending, done = std::move(done)](absl::StatusOr<Events> events) {
             if (events.ok()) Publish(*events, ending);
             done(std::move(events));
           });
         })
      .status();
}

void Queue::Publish(const std::vector<Event>& finished, const store::Ending& ending) {
  for (const Event& event : finished) Publish(event);
  const Event& last = finished.back();
  if (!last.has_verdict() || last.last()) return;
  finality_.Add({last.submission_id(), last.verdict().attempt(), ending.gpu, TimeOf(last.verdict().decided_at()),
                 ending.seated_at});
  NoteDeadline(finality_.NextDue());
}

absl::Status Queue::Return(const store::Lease& lease, absl::string_view reason, store::Ended ended,
                           const store::Ending& ending) {
  return store::Await<Event>([&](store::Callback<Event> done) {
           store_.Return(lease, reason, ended, ending, options_.now(),
                         [this, done = std::move(done)](absl::StatusOr<Event> event) {
                           Publish(event);
                           if (event.ok() && event->has_retrying()) OfferWork(1);
                           done(std::move(event));
                         });
         })
      .status();
}

absl::Status Queue::CancelIfPromised(const store::Lease& lease, const absl::Status& attempted,
                                     const store::Ending& ending) {
  if (!absl::IsFailedPrecondition(attempted)) return attempted;
  return Finish(lease, CancelledVerdict(lease.submission.request, lease.submission.attempt, options_.now()), ending);
}

bool Queue::MayBeRunAgain(const store::Submission& submission) const {
  return submission.exclusions < options_.max_exclusions;
}

store::Ending Queue::EndingOf(const RunningJob& job) const {
  auto [gpu, seated_at] = job.seat();
  return {std::move(gpu), seated_at, options_.max_exclusions};
}

Verdict Queue::Complete(const RunningJob& job, Verdict verdict) const {
  const store::Submission& submission = job.lease().submission;
  const bool unasked =
      verdict.status() == sassay::v1::VERDICT_STATUS_CANCELLED && job.interruption() != Interruption::kCancelled;
  if (unasked) {  // what the stages saw until then stays
    verdict.set_status(sassay::v1::VERDICT_STATUS_INFRA_ERROR);
    verdict.set_code(sassay::v1::VERDICT_CODE_INTERNAL);
    verdict.set_reason(job.interruption() == Interruption::kExcluded
                           ? "given up because of what the reliability monitor saw on its GPU"
                           : absl::StrCat("the stages were given up ",
                                          absl::FormatDuration(options_.now() - job.deadline()),
                                          " after run_deadline"));
  }
  BoundVerdict(verdict);
  verdict.set_submission_id(submission.id);
  verdict.set_attempt(submission.attempt);
  SetTimestamp(options_.now(), *verdict.mutable_decided_at());
  finality_.Mark(job.seat().first, verdict);
  return verdict;
}

absl::Status Queue::Settle(RunningJob& job, const Verdict& verdict, bool given_up) {
  const store::Lease& lease = job.lease();
  const store::Ending ending = EndingOf(job);
  const Interruption interruption = job.interruption();
  const auto give_back = [&](absl::string_view reason, store::Ended ended) {
    return CancelIfPromised(lease, Return(lease, reason, ended, ending), ending);
  };
  if (interruption == Interruption::kStopping) return give_back("the service was stopped", store::Ended::kStopped);
  if (interruption == Interruption::kNoOpenGpu) {
    return give_back("no GPU that takes it is open; it waits in the queue again", store::Ended::kStopped);
  }
  // A verdict that was reached all the same stays, and is excluded by the store.
  if (interruption == Interruption::kExcluded && given_up && MayBeRunAgain(lease.submission)) {
    return give_back(verdict.reason(), store::Ended::kExcluded);
  }
  const bool again = interruption == Interruption::kNone && WorthRetrying(verdict) &&
                     lease.submission.failures + 1 < options_.max_attempts;
  if (again) return give_back(verdict.reason(), store::Ended::kFailed);
  return CancelIfPromised(lease, Finish(lease, verdict, ending), ending);
}

void Queue::Conclude(RunningJob& job, Verdict verdict) {
  const std::string id = job.lease().submission.id;
  const bool given_up = verdict.status() == sassay::v1::VERDICT_STATUS_CANCELLED;
  const Verdict complete = Complete(job, std::move(verdict));
  absl::Status settled = Settle(job, complete, given_up);
  while (absl::IsUnavailable(settled) && !stopping()) {
    spdlog::error("cannot store what became of {}, trying again: {}", id, settled.ToString());
    hooks_.store_failed();
    BackOff();
    settled = Settle(job, complete, given_up);
  }
  if (!settled.ok()) spdlog::warn("attempt {} of {} publishes nothing: {}", complete.attempt(), id, settled.ToString());
  // What nobody could run while this place was taken may wait still.
  if (store_.shared()) OfferWork(1);
  absl::MutexLock lock(&mutex_);
  const auto registered = running_.find(id);
  if (registered != running_.end() && registered->second.get() == &job) running_.erase(registered);
}

std::vector<std::string> Queue::EarlierDevices(const store::Submission& submission) {
  std::vector<std::string> devices;
  if (submission.failures == 0 && submission.exclusions == 0) return devices;
  const auto events = store_.Events(submission.id, 0, kEventsOfASubmission);
  if (!events.ok()) return devices;
  std::string current;
  for (const Event& event : *events) {
    if (!event.stage_started().device().empty()) current = event.stage_started().device();
    if (!(event.has_retrying() || event.has_excluded()) || current.empty()) continue;
    if (std::find(devices.begin(), devices.end(), current) == devices.end()) devices.push_back(current);
    current.clear();
  }
  return devices;
}

// ---- what the monitor says ----

void Queue::Exclude(const store::BadWindow& window, store::Callback<store::Exclusions> done) {
  store_.Exclude(window, options_.max_exclusions, options_.now(),
                 [this, window, done = std::move(done)](absl::StatusOr<store::Exclusions> excluded) {
                   if (excluded.ok()) {
                     for (const Event& event : excluded->events) Publish(event);
                     InterruptIn(window);
                   }
                   done(std::move(excluded));
                 });
}

// The store knows of the window already: whoever ends before it hears of this is excluded there.
void Queue::InterruptIn(const store::BadWindow& window) {
  absl::MutexLock lock(&mutex_);
  for (auto& [id, job] : running_) {
    const auto [gpu, seated_at] = job->seat();
    if (gpu == window.gpu && seated_at < window.to && options_.now() > window.from) {
      job->Interrupt(Interruption::kExcluded);
    }
  }
}

void Queue::ReportHealth(const sassay::v1::ReportHealthRequest& report) { finality_.Report(report); }

std::shared_ptr<Bell::Ear> Queue::OnExclusions(std::function<void()> on_ring) {
  return exclusions_.Listen(std::move(on_ring));
}

absl::Status Queue::RecordIncident(const sassay::v1::Incident& incident) {
  RETURN_IF_ERROR(store_.RecordIncident(incident));
  incidents_.Ring();
  return absl::OkStatus();
}

std::shared_ptr<Bell::Ear> Queue::OnHolds(std::function<void()> on_ring) { return holds_.Listen(std::move(on_ring)); }

std::shared_ptr<Bell::Ear> Queue::OnIncidents(std::function<void()> on_ring) {
  return incidents_.Listen(std::move(on_ring));
}

void Queue::SettleTiming(const store::Provisional& timing, absl::string_view warning) {
  store_.SettleTiming(timing.id, timing.attempt, warning, options_.now(), [this, timing](absl::StatusOr<Event> event) {
    Publish(event);
    if (!absl::IsUnavailable(event.status())) return;
    hooks_.store_failed();
    finality_.Retry(timing);
  });
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

}  // namespace sassay::queue
