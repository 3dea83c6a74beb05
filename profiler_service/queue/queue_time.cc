// What the queue does as time goes by: leases, deadlines, timings that wait for the monitor's word.
#include <algorithm>
#include <utility>

#include "profiler_service/queue/own_verdicts.h"
#include "profiler_service/queue/queue.h"
#include "spdlog/spdlog.h"

namespace sassay::queue {
namespace {

using sassay::v1::Event;

constexpr int kOverdueAtOnce = 100;

}  // namespace

absl::Status Queue::TakeBack(const store::Lease& lease, absl::string_view reason, store::Ended ended) {
  const store::Submission& submission = lease.submission;
  const uint32_t losses = submission.losses + (ended == store::Ended::kCrashed ? 1 : 0);
  const store::Ending unknown;  // the process that knew the place is gone
  absl::Status status;
  if (submission.cancelling) {
    status = Finish(lease, CancelledVerdict(submission.request, submission.attempt, options_.now()), unknown);
  } else if (ended == store::Ended::kCrashed && losses >= options_.max_losses) {
    status = Finish(lease, GivenUpVerdict(submission, losses, options_.now()), unknown);
  } else {
    status = CancelIfPromised(lease, Return(lease, reason, ended, unknown), unknown);
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
  finality_.Tick();
}

absl::Duration Queue::UntilNextTick() {
  const auto deadline = store_.NextQueueDeadline();
  const absl::Time next = std::min(deadline.value_or(absl::InfiniteFuture()), finality_.NextDue());
  return std::clamp(next - options_.now(), absl::ZeroDuration(), options_.lease / 3);
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
