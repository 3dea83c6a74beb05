// What must survive everything: submissions, leases, events, verdicts, tenants and the audit log.
//
// The queue owns the rules (who is next, what a lost lease means); the store owns the promise that what was answered is
// on disk. The interface is written so that several service processes can share one database: every write by a worker
// is fenced by its lease's epoch. SQLite (sqlite/sqlite_store.h) is the embedded implementation, PostgreSQL
// (postgres/postgres_store.h) the one that several processes share; both pass testing/store_conformance.h.
#ifndef SASSAY_PROFILER_SERVICE_STORE_STORE_H_
#define SASSAY_PROFILER_SERVICE_STORE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "profiler_service/store/records.h"
#include "profiler_service/store/watch.h"
#include "sassay/v1/control.pb.h"
#include "sassay/v1/events.pb.h"
#include "sassay/v1/profiler.pb.h"
#include "sassay/v1/verdict.pb.h"

namespace sassay::store {

// Where a submission is in its life. The numbers are on disk.
enum class State { kQueued = 0, kLeased = 1, kFinished = 2 };

// How much may wait. Checked in the transaction that accepts, so two clients cannot both take the last place.
struct AdmissionLimits {
  uint64_t tenant_in_flight = 0;  // queued and running submissions of one tenant
  uint64_t queued = 0;            // queued submissions of all tenants
};

// GPUs of one architecture, among which shares are kept (scheduling/policy.h), as whoever asks for work sees them.
struct AskedPool {
  std::string arch;                 // "sm_90a"; empty for submissions of which nobody said what they need
  uint64_t gpus = 1;                // of all living nodes
  std::vector<std::string> living;  // names of the nodes that take work of it
};

// Who asks for work, and what it can run.
struct Asker {
  Asker(absl::string_view owner) : owner(owner) {}   // NOLINT: a process of its own that takes what has no architecture
  Asker(const std::string& owner) : owner(owner) {}  // NOLINT
  Asker(const char* owner) : owner(owner) {}         // NOLINT

  std::string owner;                             // the process; holds the lease
  std::string node = "local";                    // its name, which outlives the process
  std::vector<AskedPool> pools = {{"", 1, {}}};  // in the order in which it would rather have work
  std::vector<std::string> models;               // of its GPUs that have a free place; at most kMostModels count
  std::vector<std::string> states;  // workloads whose state it holds, used last first; at most kMostStates count

  static constexpr size_t kMostModels = 2;
  static constexpr size_t kMostStates = 4;
};

// What a verdict that was reached before may do for a submission (profiler_service/reuse).
struct Reuse {
  // The same for submissions of one tenant whose verdicts may stand for each other; empty: for none.
  std::string key;
  // The verdict to end with at `now`, made of one under the same key; nothing if that does not fit. A pure function,
  // which may be called more than once, inside the transaction. Empty: it is run in any case.
  std::function<absl::optional<sassay::v1::Verdict>(const sassay::v1::Verdict& earlier, absl::Time now)> copy;
};

// What a client asks for. `id` is used only if the request is new.
struct NewSubmission {
  std::string id;
  std::string tenant;
  sassay::v1::ProfileRequest request;
  absl::Time accepted_at;
  absl::Time queue_deadline;  // still waiting then: the queue ends it
  absl::Duration run_deadline;
  AdmissionLimits limits;
  std::string arch = "";  // of its pool; see AskedPool
  Reuse reuse = {};
};

// What became of a NewSubmission.
struct Submitted {
  std::string id;        // of the first submission with this request_id
  bool created = false;  // false: the same request was already here
  sassay::v1::Event accepted;
  absl::optional<sassay::v1::Event> verdict;  // it was ended at once, by an earlier verdict
};

// A submission as the store knows it.
struct Submission {
  std::string id;
  std::string tenant;
  sassay::v1::ProfileRequest request;
  State state = State::kQueued;
  absl::Time accepted_at;
  absl::Time queue_deadline;
  absl::Duration run_deadline;
  uint32_t attempt = 0;        // attempts begun
  uint32_t failures = 0;       // attempts that ended in trouble of ours (Ended::kFailed)
  uint32_t losses = 0;         // attempts in a row during which their process crashed (Ended::kCrashed)
  uint32_t exclusions = 0;     // attempts that do not count because of what a monitor saw
  bool cancelling = false;     // somebody asked to stop
  bool provisional = false;    // finished, and the timing of its verdict is not final yet
  bool readable = true;        // false: `request` is empty, its bytes cannot be parsed any more
  uint64_t last_sequence = 0;  // of its events
};

// The right to run one attempt. Whoever holds the highest epoch of a submission, under the name that took it, may write
// about it; nobody else.
struct Lease {
  Submission submission;
  std::string owner;  // the process that holds it
  uint64_t epoch = 0;
  absl::Time expires_at;
};

// Why an attempt ended without a verdict; says what counts against the submission.
enum class Ended {
  // The service was asked to stop. Nothing counts.
  kStopped,
  // Its process was killed from outside, or the machine went down. That says nothing about the submission: nothing
  // counts, and a row of losses is neither longer nor broken.
  kKilled,
  // Its process crashed of itself, or was silent for too long: a loss.
  kCrashed,
  // The attempt came to its end without judging the candidate, because a runner or judge was lost: a failure.
  kFailed,
  // It was given up because a BadWindow covers it. Nothing counts but the exclusion.
  kExcluded,
};

// What a renewal met.
enum class Renewal { kRenewed, kCancelling, kLost };

// What a cancellation met.
struct Cancellation {
  State state = State::kQueued;               // before the call
  absl::optional<sassay::v1::Event> verdict;  // the event that ended a queued submission
};

// One line of the audit log.
struct AuditRecord {
  uint64_t sequence = 0;  // given by the store, dense from 1
  absl::Time at;
  std::string actor;    // tenant name
  std::string action;   // "Control.QuarantineGpu"
  std::string target;   // what it was done to
  std::string outcome;  // "OK" or the status' name
  std::string detail;   // one line
};

// How far a submission has come, for whoever watches many.
struct ProgressOf {
  std::string id;
  uint64_t last_sequence = 0;
  bool ended = false;  // finished and settled: no event follows, unless it is excluded later
};

// Numbers for metrics and Capabilities.
struct Depths {
  uint64_t queued = 0;
  uint64_t leased = 0;
};

// Called once, with the answer, after it is durable; on the store's writing thread, so it must be quick and must not
// wait for another write (it would wait for itself); a read is fine. Calls come in the order in which the writes took
// effect.
template <typename T>
using Callback = std::function<void(absl::StatusOr<T>)>;

// Durable memory of the queue. Thread-safe.
//
// Writes take effect one after the other and are answered when durable; many are committed together. Errors common to
// all: UNAVAILABLE if the disk or database fails (nothing was changed; worth retrying). Time comes from the caller.
class Store {
 public:
  // Must not run on a callback's thread. Waits for writes under way.
  virtual ~Store() = default;

  // Whether other processes may use the same database: then leases that nobody here holds may be somebody else's, and
  // only those that have expired may be taken back.
  virtual bool shared() const = 0;
  // Tells `observer` what other processes change. A first call with `everything` says from when on nothing is missed. A
  // store of one process never calls it.
  virtual std::unique_ptr<Watch> Observe(Observer observer) = 0;

  // Accepts a submission and appends its Accepted event. The same tenant, request_id and content again answers with the
  // first submission. ALREADY_EXISTS: same request_id, other content. RESOURCE_EXHAUSTED: a limit; the message names
  // the service's flag.
  //
  // One whose `reuse` fits the newest verdict of its key is ended in the same transaction, and takes no place: its
  // events are Accepted and that verdict. A verdict is looked at if it was run for, is settled, counts and says
  // something about its candidate (neither INFRA_ERROR nor CANCELLED), unless the latest ones of the key contradict
  // each other by status. Its timing is MEASURED then.
  virtual void Submit(NewSubmission submission, Callback<Submitted> done) = 0;
  // The id of the submission that Submit would answer with; nothing if it would be new. ALREADY_EXISTS as there.
  virtual absl::StatusOr<absl::optional<std::string>> FindEarlier(absl::string_view tenant,
                                                                  const sassay::v1::ProfileRequest& request) = 0;

  // Takes the next submission that the asker can run, by scheduling::Decide; none of those past their queue deadline.
  // Nothing if nothing waits for it. A lease survives the death of its process; a power cut may forget it (then nobody
  // is left who holds it), so that taking work need not wait for the disk.
  virtual void Acquire(const Asker& asker, absl::Time now, absl::Time expires_at,
                       Callback<absl::optional<Lease>> done) = 0;

  // Appends an event of the running attempt; the store gives sequence and submission_id. An event that comes with a
  // sequence asks for that place: once it is there, the same event again changes nothing and is answered alike, so that
  // whoever lost the answer may repeat the call. ABORTED: the lease is lost. OUT_OF_RANGE: the place is taken by
  // another event, or does not follow the last one.
  virtual void Append(const Lease& lease, sassay::v1::Event event, Callback<sassay::v1::Event> done) = 0;

  // Ends an attempt with its verdict, and the submission with it, unless a BadWindow overlaps the attempt: then
  // Excluded follows, and the submission waits for its next attempt where it may have one. A verdict that is CANCELLED
  // is never excluded. The events in order. ABORTED: the lease is lost. FAILED_PRECONDITION: a cancellation was
  // promised and the verdict is not CANCELLED.
  virtual void Finish(const Lease& lease, sassay::v1::Verdict verdict, const Ending& ending,
                      Callback<std::vector<sassay::v1::Event>> done) = 0;

  // Gives a submission back to the queue, at its old place, with a Retrying event; with an Excluded event if the
  // attempt was given up or failed and a BadWindow overlaps it, and then no failure counts. ABORTED: the lease is lost.
  // FAILED_PRECONDITION: a cancellation was promised; Finish it.
  virtual void Return(const Lease& lease, absl::string_view reason, Ended ended, const Ending& ending, absl::Time now,
                      Callback<sassay::v1::Event> done) = 0;

  // Extends leases; answers one Renewal per lease.
  virtual absl::StatusOr<std::vector<Renewal>> Renew(const std::vector<Lease>& leases, absl::Time expires_at) = 0;

  // Ends a queued submission with `verdict`, or marks a leased one, or changes nothing. NOT_FOUND: no such submission
  // of this tenant.
  virtual void Cancel(absl::string_view tenant, absl::string_view id, sassay::v1::Verdict verdict,
                      Callback<Cancellation> done) = 0;

  // Ends a submission that still waits. ABORTED: it does not wait any more.
  virtual void FinishQueued(absl::string_view id, sassay::v1::Verdict verdict, Callback<sassay::v1::Event> done) = 0;

  // Submissions that waited past their deadline, at most `limit`.
  virtual absl::StatusOr<std::vector<Submission>> PastQueueDeadline(absl::Time now, int limit) = 0;
  // The next queue deadline; InfiniteFuture if nothing waits.
  virtual absl::StatusOr<absl::Time> NextQueueDeadline() = 0;
  // Leases that expired before `now`; InfiniteFuture for all.
  virtual absl::StatusOr<std::vector<Lease>> LeasesExpiredBy(absl::Time now) = 0;
  // What a lease holds, known by its submission's id, epoch and owner. ABORTED: it is lost.
  virtual absl::StatusOr<Submission> Leased(const Lease& lease) = 0;
  // The leases of all owners that begin with `prefix`, which ends in ASCII.
  virtual absl::StatusOr<std::vector<Lease>> LeasesOf(absl::string_view prefix) = 0;

  // NOT_FOUND also if it belongs to another tenant.
  virtual absl::StatusOr<Submission> Get(absl::string_view tenant, absl::string_view id) = 0;
  // Events with sequence > `after`, in order, at most `limit`. Event.last is true of the last one of a submission that
  // is finished and settled, as things stand now.
  virtual absl::StatusOr<std::vector<sassay::v1::Event>> Events(absl::string_view id, uint64_t after, int limit) = 0;
  // One for each that is known, in no order; ids that are not known are left out.
  virtual absl::StatusOr<std::vector<ProgressOf>> Progress(const std::vector<std::string>& ids) = 0;
  virtual absl::StatusOr<Depths> CountDepths() = 0;

  // Forgets finished submissions whose verdict is older than `before`, with their events, at most `limit` at once;
  // answers how many. Their request_ids are free again.
  virtual absl::StatusOr<int> Trim(absl::Time before, int limit) = 0;

  // Remembers the window (replacing one of the same GPU and incident that was open) and excludes the finished
  // submissions whose verdict comes of an attempt that overlaps, or was copied of one that does: an Excluded event, and
  // back to the queue unless that has happened `max_exclusions` times before. An attempt is excluded once, by whichever
  // window comes first. What runs meanwhile is excluded when it ends (Finish, Return).
  virtual void Exclude(const BadWindow& window, uint32_t max_exclusions, absl::Time now, Callback<Exclusions> done) = 0;
  // Windows that last, by their begins.
  virtual absl::StatusOr<std::vector<BadWindow>> OpenWindows() = 0;
  // Closes the open windows of a GPU.
  virtual absl::Status CloseWindows(absl::string_view gpu, absl::Time now) = 0;
  // Excluded events of a tenant at or after `from` and with a higher place, in order.
  virtual absl::StatusOr<std::vector<ExcludedEvent>> ExcludedSince(absl::string_view tenant, absl::Time from,
                                                                   uint64_t after, int limit) = 0;
  // The place of the newest of all tenants; 0 if there is none.
  virtual absl::StatusOr<uint64_t> LastExcluded() = 0;
  // Attempts that had a place on `gpu` and overlap, as in BadWindow; sorted by their ends.
  virtual absl::StatusOr<std::vector<Attempt>> AttemptsOn(absl::string_view gpu, absl::Time from, absl::Time to) = 0;
  // The attempts of a submission that have ended, in order.
  virtual absl::StatusOr<std::vector<Attempt>> AttemptsOf(absl::string_view id) = 0;

  // The timing of a verdict that was PROVISIONAL is final: a TimingSettled event. ABORTED: it is not provisional (any
  // more).
  virtual void SettleTiming(absl::string_view id, uint32_t attempt, absl::string_view warning, absl::Time now,
                            Callback<sassay::v1::Event> done) = 0;
  virtual absl::StatusOr<std::vector<Provisional>> Provisionals() = 0;

  // Durable when they return. Placing replaces what the same holder had there; lifting what is not there is no error.
  virtual absl::Status PlaceHold(const Hold& hold) = 0;
  virtual absl::Status LiftHold(absl::string_view gpu, absl::string_view holder) = 0;
  // Sorted by GPU and holder.
  virtual absl::StatusOr<std::vector<Hold>> Holds() = 0;

  // Keeps one revision for ever; durable when it returns. The same id and revision again changes nothing.
  virtual absl::Status RecordIncident(const sassay::v1::Incident& incident) = 0;
  // Revisions with a higher place, in the order in which they came, of incidents that, by their highest revision,
  // lasted until `from` or longer.
  virtual absl::StatusOr<std::vector<IncidentRecord>> IncidentsSince(absl::Time from, uint64_t after, int limit) = 0;
  virtual absl::StatusOr<uint64_t> LastIncident() = 0;

  // A tenant's weight among others, from the next dispatch on; durable when it returns.
  virtual absl::Status SetWeight(absl::string_view tenant, uint32_t weight) = 0;
  // What tenants have used until `now`, also for submissions that were forgotten; sorted. One tenant, or all if empty.
  virtual absl::StatusOr<std::vector<sassay::v1::TenantUsage>> Usage(absl::string_view tenant, absl::Time now) = 0;

  // Keeps a node, replacing what was kept of that name; durable when it returns.
  virtual absl::Status PutNode(const NodeRecord& node) = 0;
  // Forgets it, unless another instance has taken the name.
  virtual absl::Status DropNode(absl::string_view name, absl::string_view instance) = 0;
  // Sorted by name.
  virtual absl::StatusOr<std::vector<NodeRecord>> Nodes() = 0;

  // Appends to the audit log; durable when it returns. Nothing ever changes or removes a record.
  virtual absl::Status Audit(const AuditRecord& record) = 0;
  // Records with sequence > `after`, in order.
  virtual absl::StatusOr<std::vector<AuditRecord>> AuditLog(uint64_t after, int limit) = 0;
};

// Waits for the answer of a write: Await<Event>([&](auto done) { store.Append(lease, event, done); }).
template <typename T>
absl::StatusOr<T> Await(const std::function<void(Callback<T>)>& write) {
  absl::Notification ready;
  absl::StatusOr<T> answer = absl::UnknownError("no answer");
  write([&](absl::StatusOr<T> result) {
    answer = std::move(result);
    ready.Notify();
  });
  ready.WaitForNotification();
  return answer;
}

}  // namespace sassay::store

#endif  // SASSAY_PROFILER_SERVICE_STORE_STORE_H_
