// Records whose verdict a reliability monitor took back after they were written.
//
// A record that was written stays: who reads the file may have it already. What counts then is a later record of the
// same id, as everywhere in such a file: the verdict of the run that took the excluded one's place, or the same verdict
// with `excluded`, which says nothing about its candidate. Records of earlier runs are RecordFile's: their items are
// judged again.
#ifndef SASSAY_AGENT_BATCH_CORRECTIONS_H_
#define SASSAY_AGENT_BATCH_CORRECTIONS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/rollout/exclusions.h"
#include "common/rpc/stopper.h"
#include "sassay/v1/agent.pb.h"
#include "sassay/v1/events.pb.h"

namespace sassay::agent {

// What it talks to; all of it outlives it.
struct CorrectionParts {
  using OnEvent = std::function<void(const v1::Event&)>;
  // Exclusions as they come, until the stopper stops.
  std::function<void(Stopper&, const OnEvent&)> watch;
  // Those since a moment that the service has kept, in one call.
  std::function<absl::Status(absl::Time from, Stopper&, const OnEvent&)> past;
  // The verdict of a submission that counts now; waits for it.
  std::function<absl::StatusOr<v1::Verdict>(const std::string& submission_id, Stopper&)> follow;
  // Takes each record, one at a time.
  std::function<absl::Status(const v1::BatchRecord&)> write;
  std::function<void(absl::string_view)> note;
};

// Life cycle: Start listens; every record goes through Emit; Finish asks once more for what was excluded meanwhile,
// waits until each correction is written, and ends; destruction without it ends at once. Threads: Emit and Stop from
// any. Failure: what the service does not tell is noted; Emit gives what `write` gave.
class Corrections {
 public:
  explicit Corrections(CorrectionParts parts);
  ~Corrections();

  void Start();
  absl::Status Emit(const v1::BatchRecord& record) ABSL_LOCKS_EXCLUDED(mutex_);
  void Finish() ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends listening, waiting and Finish.
  void Stop() { stopper_.Stop(); }

  // Takes what was corrected out of counts of all that was emitted, and counts what stands instead.
  void Apply(v1::BatchSummary& counts) const ABSL_LOCKS_EXCLUDED(mutex_);
  size_t corrected() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What a correction repeats of the record, and of its verdict what it is known by.
  void Remember(const v1::BatchRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  void Correct(size_t index) ABSL_LOCKS_EXCLUDED(mutex_);

  const CorrectionParts parts_;
  const absl::Time begin_;
  Stopper stopper_;
  Exclusions exclusions_;
  mutable absl::Mutex mutex_;
  std::deque<v1::BatchRecord> written_ ABSL_GUARDED_BY(mutex_);
  std::deque<size_t> excluded_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  v1::BatchSummary gone_ ABSL_GUARDED_BY(mutex_);
  v1::BatchSummary come_ ABSL_GUARDED_BY(mutex_);
  size_t corrected_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread watcher_, worker_;
};

// Adds one record to the counts of its kind.
void CountRecord(const v1::BatchRecord& record, v1::BatchSummary& counts);

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BATCH_CORRECTIONS_H_
