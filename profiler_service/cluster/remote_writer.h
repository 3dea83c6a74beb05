// One call of a front end after the other, in the order in which a node asked for them.
#ifndef SASSAY_PROFILER_SERVICE_CLUSTER_REMOTE_WRITER_H_
#define SASSAY_PROFILER_SERVICE_CLUSTER_REMOTE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "profiler_service/cluster/front_ends.h"
#include "profiler_service/store/store.h"

namespace sassay::cluster {

// Where a lease's events stand.
struct LeaseProgress {
  // The last event that is known to be kept; 0: the lease is not one of ours (any more).
  uint64_t last_sequence = 0;
  // An answer was lost: more may be kept.
  bool unsure = false;
};

// Owns the thread on which a RemoteStore's writes are made and answered. Events that wait together travel together.
// Thread-safe. Destruction makes what was posted; where no front end answers that takes `patience` at most.
//
// Bounds: what waits is at most kMostWaiting writes and kMostBytes; more is answered UNAVAILABLE at once, on the
// caller's thread.
class RemoteWriter {
 public:
  static constexpr size_t kMostWaiting = 10'000;
  static constexpr size_t kMostBytes = size_t{64} << 20;

  // `patience` is how long a write is tried before it is UNAVAILABLE.
  RemoteWriter(FrontEnds& front_ends, absl::Duration patience);
  ~RemoteWriter();

  // Answers with a status that is not OK instead of writing: there were too many.
  using Refuse = std::function<void(const absl::Status&)>;
  void Append(const store::Lease& lease, sassay::v1::Event event, store::Callback<sassay::v1::Event> done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Any other write; `write` makes the call, until the time given, and answers.
  void Post(size_t bytes, std::function<void(absl::Time until)> write, Refuse refuse) ABSL_LOCKS_EXCLUDED(mutex_);

  // The answer to the Acquire of that number, the lease that it gave if it gave one; how far its events are; and that
  // it is over. A lease whose end is not noted is forgotten when its renewal or a write finds it lost.
  void NoteAnswer(uint64_t number, const absl::optional<store::Lease>& taken) ABSL_LOCKS_EXCLUDED(mutex_);
  LeaseProgress ProgressOf(const store::Lease& lease) const ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteOver(const store::Lease& lease) ABSL_LOCKS_EXCLUDED(mutex_);
  // The lease of a submission that is held here; one with an empty id if there is none.
  store::Lease HeldOf(absl::string_view submission_id) const ABSL_LOCKS_EXCLUDED(mutex_);
  // All of them, as of the last answer.
  sassay::v1::HeldLeases Held() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Appending {
    store::Lease lease;
    sassay::v1::Event event;
    store::Callback<sassay::v1::Event> done;
  };
  struct Write {
    absl::Time until;
    size_t bytes = 0;
    std::vector<Appending> append;  // one, or none: then `other`
    std::function<void(absl::Time)> other;
  };
  struct HeldLease {
    store::Lease lease;
    LeaseProgress progress;
  };
  using Key = std::pair<std::string, uint64_t>;  // submission, epoch
  static Key KeyOf(const store::Lease& lease) { return {lease.submission.id, lease.epoch}; }

  bool Enqueue(Write write) ABSL_LOCKS_EXCLUDED(mutex_);
  void Loop() ABSL_LOCKS_EXCLUDED(mutex_);
  std::deque<Write> TakeTogether() ABSL_LOCKS_EXCLUDED(mutex_);
  bool SomethingToDo() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stopping_ || !waiting_.empty(); }

  enum class OutOfPlace { kSendAgain, kIsLost };
  void SendEvents(std::vector<Appending> events, absl::Time until, OutOfPlace out_of_place);
  sassay::v1::AppendRequest RequestFor(const std::vector<Appending>& events) const ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteUnsure(const std::vector<Appending>& events) ABSL_LOCKS_EXCLUDED(mutex_);
  // What became of one event. True: its lease's events stand elsewhere than thought, send it again.
  bool Settle(Appending& appending, const sassay::v1::Appended& answer, OutOfPlace out_of_place)
      ABSL_LOCKS_EXCLUDED(mutex_);

  FrontEnds& front_ends_;
  const absl::Duration patience_;
  mutable absl::Mutex mutex_;
  std::deque<Write> waiting_ ABSL_GUARDED_BY(mutex_);
  size_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Key, HeldLease> held_ ABSL_GUARDED_BY(mutex_);
  uint64_t settled_number_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace sassay::cluster

#endif  // SASSAY_PROFILER_SERVICE_CLUSTER_REMOTE_WRITER_H_
