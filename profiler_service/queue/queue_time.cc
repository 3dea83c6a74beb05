// What the queue does as time goes by: leases, deadlines, timings that wait for the monitor's word, windows that nobody
// closes.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/random.h"
#include "profiler_service/queue/own_verdicts.h"
#include "profiler_service/queue/queue.h"
#include "spdlog/spdlog.h"

namespace sassay::queue {
namespace {

using sassay::v1::Event;

constexpr int kOverdueAtOnce = 100;
// On a shared store: others' leases expire, whether or not the store tells of anything.
constexpr absl::Duration kLookAnyway = absl::Seconds(2);
constexpr size_t kMostOfAnId = 100;

// What an operator reads about it, beside the monitor's incident, which is not ours to revise.
sassay::v1::Incident ClosedWindowIncident(const store::BadWindow& window, absl::Duration limit) {
  sassay::v1::Incident note;
  note.set_id(absl::StrCat(window.incident_id.substr(0, kMostOfAnId), "-closed-", RandomHex(3)));
  note.set_revision(1);
  note.set_uuid(window.gpu);
  note.set_rule("window_left_open");
  note.set_severity(sassay::v1::SEVERITY_WARNING);
  note.set_reason(absl::StrCat("the window of incident ", window.incident_id, " was left open: for ",
                               absl::FormatDuration(limit),
                               " no reliability monitor has said that this GPU is unwell; it is closed "
                               "(--max-open-window), and what runs from now on counts"));
  note.add_actions("window closed by the service");
  SetTimestamp(window.from, *note.mutable_from());
  SetTimestamp(window.to, *note.mutable_to());
  return note;
}

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

// A monitor that is lost for good, or that came back without its journal, says nothing of the windows it opened.
// Whatever ran there would be excluded for ever.
void Queue::CloseForgottenWindows() {
  const auto windows = store_.OpenWindows();
  if (!windows.ok()) return;
  for (const store::BadWindow& window : *windows) {
    if (!IsMine(window.gpu)) continue;
    const absl::Duration lasted = std::min(finality_.unblamed(window.gpu), options_.now() - window.from);
    if (lasted >= options_.max_open_window) CloseWindow(window);
  }
}

void Queue::CloseWindow(store::BadWindow window) {
  window.to = options_.now();
  const absl::Status closed = store::Await<store::Exclusions>([&](store::Callback<store::Exclusions> done) {
                                Exclude(window, std::move(done));
                              }).status();
  const sassay::v1::Incident note = ClosedWindowIncident(window, options_.max_open_window);
  const absl::Status noted = closed.ok() ? RecordIncident(note) : closed;
  if (noted.ok()) return spdlog::warn("{}: {}", note.id(), note.reason());
  spdlog::error("cannot close the window of {} on {}: {}", window.incident_id, window.gpu, noted.ToString());
}

void Queue::Tick() {
  RenewLeases();
  TakeBackExpired();
  EndOverdue();
  CloseForgottenWindows();
  finality_.Tick();
  if (!store_.shared()) return;
  SettleWhatWasLeftBehind();
  OfferWork(1);  // who may run what changes as nodes come and go
}

absl::Duration Queue::UntilNextTick() {
  const auto deadline = store_.NextQueueDeadline();
  const absl::Time next = std::min(deadline.value_or(absl::InfiniteFuture()), finality_.NextDue());
  const absl::Duration longest = store_.shared() ? std::min(options_.lease / 3, kLookAnyway) : options_.lease / 3;
  return std::clamp(next - options_.now(), absl::ZeroDuration(), longest);
}

void Queue::NoteDeadline(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  earliest_noted_ = std::min(earliest_noted_, deadline);
  if (deadline < next_tick_) timer_.SignalAll();
}

void Queue::KeepTime() {
  while (!stopping()) {
    {
      absl::MutexLock lock(&mutex_);
      earliest_noted_ = absl::InfiniteFuture();
    }
    Tick();
    const absl::Duration until_deadline = UntilNextTick();
    absl::MutexLock lock(&mutex_);
    // What was noted meanwhile may not be in the store's answer.
    const absl::Time now = options_.now();
    next_tick_ = std::min(now + until_deadline, earliest_noted_);
    if (!stopping_ && next_tick_ > now) timer_.WaitWithTimeout(&mutex_, next_tick_ - now);
  }
}

}  // namespace sassay::queue
