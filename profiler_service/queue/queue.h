// The queue: owns a submission's life from "accepted" to its one verdict.
//
// The rules live here, the promise to remember in store/. A submission is durable before its client hears "accepted";
// from then on exactly one verdict that counts follows, whatever dies in between: whoever runs it holds a lease, and a
// lease that was lost cannot write. What the monitor excludes does not count, and is run again.
#ifndef SASSAY_PROFILER_SERVICE_QUEUE_QUEUE_H_
#define SASSAY_PROFILER_SERVICE_QUEUE_QUEUE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "common/base/steady_time.h"
#include "profiler_service/queue/bell.h"
#include "profiler_service/queue/event_feed.h"
#include "profiler_service/queue/finality.h"
#include "profiler_service/queue/follower.h"
#include "profiler_service/queue/running_job.h"
#include "profiler_service/store/store.h"
#include "sassay/v1/control.pb.h"

namespace sassay::queue {

// Rules. The api maps each to a flag.
struct QueueOptions {
  store::AdmissionLimits limits = {1000, 10000};
  absl::Duration default_queue_deadline = absl::Hours(1);
  absl::Duration max_queue_deadline = absl::Hours(24);
  absl::Duration default_run_deadline = absl::Minutes(10);
  absl::Duration max_run_deadline = absl::Hours(1);
  // How long a lease lives without renewal; renewed three times as often.
  absl::Duration lease = absl::Seconds(30);
  // Attempts that may end in trouble of ours (a lost runner or judge) before an INFRA_ERROR stands.
  uint32_t max_attempts = 3;
  // Crashes in a row of the process that ran it before a submission is given up. A crash counts against everything that
  // ran then, most of it innocent, so the number is generous. A process that was killed from outside counts against
  // nothing.
  uint32_t max_losses = 10;
  // How often a submission is run again because its attempt was excluded. The next exclusion is its last word.
  uint32_t max_exclusions = 3;
  // A window that a monitor left open is closed when for so long no monitor has said anything against its GPU.
  absl::Duration max_open_window = absl::Minutes(15);
  // What this process can run, where it says; its owner is the queue's own.
  store::Asker asker{""};
  // Models of this process's GPUs that have a free place at present; empty: always those of `asker`.
  std::function<std::vector<std::string>()> free_models;
  // On a shared store: what the owners of this process's leases, and of its predecessors', begin with; nobody else's
  // do. Empty: what a predecessor left is taken back when it expires, as everybody's.
  std::string owner_prefix;
  // On a shared store: whether a GPU is one of this process. What is said about others' is their processes' to look
  // after. Empty: all are.
  std::function<bool(absl::string_view gpu)> mine;
  // Time of day, and time for waiting on the monitor; tests bring their own.
  std::function<absl::Time()> now = absl::Now;
  std::function<absl::Time()> steady = SteadyNow;
};

// How the process that used the store before came to its end. Without this knowledge a submission that crashes its
// service would be run for ever, and an innocent one would be given up because somebody killed the service too often.
enum class PreviousProcess { kEndedOrWasKilled, kCrashed };

// What happened, for metrics. Called on threads of the store and of the runners: be quick.
struct QueueHooks {
  std::function<void()> accepted = [] {};
  std::function<void()> reused = [] {};  // accepted, and ended with an earlier verdict
  std::function<void()> retried = [] {};
  std::function<void(const sassay::v1::Verdict&)> finished = [](const sassay::v1::Verdict&) {};
  std::function<void(const sassay::v1::StageReport&)> stage_finished = [](const sassay::v1::StageReport&) {};
  std::function<void(const sassay::v1::Excluded&)> excluded = [](const sassay::v1::Excluded&) {};
  std::function<void(const sassay::v1::TimingSettled&)> settled = [](const sassay::v1::TimingSettled&) {};
  std::function<void()> store_failed = [] {};
};

// Who may run a submission, and what may stand for that.
struct Placing {
  std::string arch;  // of its bundle, where several kinds of nodes take work; see store::AskedPool
  store::Reuse reuse;
};

// Whether a request is well-formed, apart from its deadlines. INVALID_ARGUMENT names the field.
absl::Status CheckRequest(const sassay::v1::ProfileRequest& request);

// Thread-safe. Life cycle: construct, Start (recovers what a dead process left), …, Stop, destroy; `store` outlives it.
//
// Where other processes use the same store (Store::shared), watchers and listeners here are told of what is written
// there, as soon as the store tells of it; and what was decided there is obeyed by what runs here.
class Queue {
 public:
  Queue(store::Store& store, QueueOptions options, QueueHooks hooks = {});
  // Stops. No call may be under way on another thread; what was posted to the store is waited for.
  ~Queue();

  // Takes back the leases of the process that used this store before, then keeps time on a thread of its own. Of a
  // shared store those of its predecessor, where it knows them (owner_prefix), and else what has expired. Call once,
  // before Next.
  absl::Status Start(PreviousProcess previous = PreviousProcess::kEndedOrWasKilled);
  // Takes back the leases of processes that have come to their end `how`: those whose owners begin with `prefix` and
  // not with `but`, where that is given. How many.
  absl::StatusOr<int> TakeBackOf(absl::string_view prefix, absl::string_view but, PreviousProcess how);
  // Takes back what was leased to the process whose owners begin with `prefix` and never came to it; nothing counts.
  absl::StatusOr<int> TakeBackUnheard(absl::string_view prefix,
                                      const std::function<bool(const store::Lease&)>& unheard);
  // No more work is handed out; Next returns nothing. Idempotent.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  // --- the client's side ---

  // INVALID_ARGUMENT names the field; others as Store::Submit.
  void Submit(const std::string& tenant, const sassay::v1::ProfileRequest& request,
              store::Callback<store::Submitted> done) {
    Submit(tenant, request, {}, std::move(done));
  }
  void Submit(const std::string& tenant, const sassay::v1::ProfileRequest& request, Placing placing,
              store::Callback<store::Submitted> done);
  // The submission that an earlier call with this request_id made; nothing if there was none. INVALID_ARGUMENT,
  // ALREADY_EXISTS as Submit.
  absl::StatusOr<absl::optional<std::string>> FindEarlier(const std::string& tenant,
                                                          const sassay::v1::ProfileRequest& request);
  // Answers whether it is being cancelled: false if there was a verdict already. NOT_FOUND.
  void Cancel(const std::string& tenant, const std::string& id, store::Callback<bool> done);
  // Watches a submission. NOT_FOUND; INVALID_ARGUMENT if `after` lies past its last event. `on_ready` as in
  // EventFeed::Subscribe.
  absl::StatusOr<std::shared_ptr<Subscription>> Subscribe(const std::string& tenant, const std::string& id,
                                                          uint64_t after, std::function<void()> on_ready);

  // --- the worker's side ---

  // Hands out no more than `places` at once: what waits for a GPU that takes nothing waits here, with its deadline, and
  // not in a worker. Without a call there is no bound.
  void SetRoom(uint32_t places) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the next submission and leases it. Nothing after Stop.
  std::shared_ptr<RunningJob> Next() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends an attempt with what its runner said: publishes the verdict, or gives the submission back where another
  // attempt may end better. A lost lease publishes nothing.
  void Conclude(RunningJob& job, sassay::v1::Verdict verdict) ABSL_LOCKS_EXCLUDED(mutex_);
  // The devices on which earlier attempts of a submission ended in trouble or were excluded, as StageStarted called
  // them, each once; empty if none did.
  std::vector<std::string> EarlierDevices(const store::Submission& submission);
  // Asks every running attempt to give up, and gives the submissions back to the queue as their runners return.
  void InterruptAll() ABSL_LOCKS_EXCLUDED(mutex_);
  size_t running() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Watchers that wait for events.
  size_t watchers() const { return feed_.watchers(); }

  // --- the monitor's side ---

  // Attempts that overlap the window do not count: those with a verdict are excluded and wait for another attempt,
  // those that run are asked to give up. Answers when that is durable; `done` as Store's.
  void Exclude(const store::BadWindow& window, store::Callback<store::Exclusions> done) ABSL_LOCKS_EXCLUDED(mutex_);
  // The monitor's word on its GPUs: until when each was healthy.
  void ReportHealth(const sassay::v1::ReportHealthRequest& report);
  const Finality& finality() const { return finality_; }
  // Keeps one revision of an incident.
  absl::Status RecordIncident(const sassay::v1::Incident& incident);
  // Rings after each incident that was recorded, by the monitor or by this queue; Store::IncidentsSince tells which.
  std::shared_ptr<Bell::Ear> OnIncidents(std::function<void()> on_ring);
  // Rings after each exclusion, of whichever tenant; Store::ExcludedSince tells which.
  std::shared_ptr<Bell::Ear> OnExclusions(std::function<void()> on_ring);

  // Rings when holds may have changed by another process; Store::Holds tells which there are.
  std::shared_ptr<Bell::Ear> OnHolds(std::function<void()> on_ring);

  // What the timekeeper does: renews leases, takes back expired ones, ends what waited too long. Public for tests,
  // which bring their own clock.
  void Tick() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::StatusOr<store::NewSubmission> Prepare(const std::string& tenant,
                                               const sassay::v1::ProfileRequest& request) const;
  // What follows for this process from a new submission.
  void Accepted(const store::Submitted& submitted, absl::Time queue_deadline) ABSL_LOCKS_EXCLUDED(mutex_);
  // `count` submissions more may wait. On a shared store nobody knows how many: as long as one is found, others look.
  void OfferWork(uint64_t count) ABSL_LOCKS_EXCLUDED(mutex_);
  bool WorkOrStop() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || (offers_ > 0 && running_.size() + acquiring_ < room_);
  }
  bool TakeOffer() ABSL_LOCKS_EXCLUDED(mutex_);
  void Acquired() ABSL_LOCKS_EXCLUDED(mutex_);
  void BackOff() ABSL_LOCKS_EXCLUDED(mutex_);
  bool stopping() const ABSL_LOCKS_EXCLUDED(mutex_);

  void Publish(const absl::StatusOr<sassay::v1::Event>& event);
  std::shared_ptr<RunningJob> Register(store::Lease lease) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<RunningJob>> Acquire() ABSL_LOCKS_EXCLUDED(mutex_);
  store::Asker Asker() const ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteState(const std::string& workload) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Finish(const store::Lease& lease, const sassay::v1::Verdict& verdict, const store::Ending& ending);
  absl::Status Return(const store::Lease& lease, absl::string_view reason, store::Ended ended,
                      const store::Ending& ending);
  // The events of a submission that has ended.
  void Publish(const std::vector<sassay::v1::Event>& finished, const store::Ending& ending);
  // Ends as cancelled what could not be ended or returned otherwise because a cancellation was promised meanwhile.
  absl::Status CancelIfPromised(const store::Lease& lease, const absl::Status& attempted, const store::Ending& ending);
  absl::Status Settle(RunningJob& job, const sassay::v1::Verdict& verdict, bool given_up);
  bool MayBeRunAgain(const store::Submission& submission) const;
  store::Ending EndingOf(const RunningJob& job) const;
  void InterruptIn(const store::BadWindow& window) ABSL_LOCKS_EXCLUDED(mutex_);
  void SettleTiming(const store::Provisional& timing, absl::string_view warning);
  sassay::v1::Verdict Complete(const RunningJob& job, sassay::v1::Verdict verdict) const;

  // Where others use the store: in queue_follow.cc.
  absl::Status TakeBackPredecessors(PreviousProcess previous);
  bool IsMine(absl::string_view gpu) const { return !options_.mine || options_.mine(gpu); }
  void Follow(const store::Changes& changes);
  bool RunsOneOf(const std::vector<std::string>& ids) const ABSL_LOCKS_EXCLUDED(mutex_);
  void LookForExclusions();
  static void RingIfNew(const absl::StatusOr<uint64_t>& last, uint64_t& known, Bell& bell);
  void SettleWhatWasLeftBehind();

  absl::Status TakeBack(const store::Lease& lease, absl::string_view reason, store::Ended ended);
  void RenewLeases() ABSL_LOCKS_EXCLUDED(mutex_);
  void TakeBackExpired() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndOverdue();
  void CloseForgottenWindows();
  void CloseWindow(store::BadWindow window);
  void KeepTime() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Duration UntilNextTick();
  void NoteDeadline(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mutex_);

  store::Store& store_;
  const QueueOptions options_;
  const QueueHooks hooks_;
  const std::string owner_;
  EventFeed feed_;
  Bell exclusions_;
  Bell incidents_;
  Bell holds_;
  // The newest of which the follower, on whose thread these are used, has rung.
  uint64_t exclusion_place_ = 0;
  uint64_t incident_place_ = 0;
  Finality finality_;

  mutable absl::Mutex mutex_;
  absl::CondVar timer_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool interrupting_ ABSL_GUARDED_BY(mutex_) = false;
  // Workloads that ran here, used last first: the judges may still hold their state.
  std::vector<std::string> states_ ABSL_GUARDED_BY(mutex_);
  // At least as many as submissions wait: each offer is worth one try to acquire.
  uint64_t offers_ ABSL_GUARDED_BY(mutex_) = 0;
  uint32_t room_ ABSL_GUARDED_BY(mutex_) = std::numeric_limits<uint32_t>::max();
  // Offers that were taken and have not become a running job, or nothing, yet.
  uint32_t acquiring_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time next_tick_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // Of the deadlines that were accepted since next_tick_ was set.
  absl::Time earliest_noted_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  std::unordered_map<std::string, std::shared_ptr<RunningJob>> running_ ABSL_GUARDED_BY(mutex_);
  std::thread timekeeper_;
  std::unique_ptr<Follower> follower_;  // of a shared store
};

}  // namespace sassay::queue

#endif  // SASSAY_PROFILER_SERVICE_QUEUE_QUEUE_H_
