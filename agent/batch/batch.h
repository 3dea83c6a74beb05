// Many candidates from one stream, judged many at a time.
#ifndef SASSAY_AGENT_BATCH_BATCH_H_
#define SASSAY_AGENT_BATCH_BATCH_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/batch/item.h"
#include "agent/batch/line_reader.h"
#include "agent/batch/record_file.h"
#include "agent/rollout/judge.h"
#include "agent/submit/retry.h"
#include "common/rpc/stopper.h"
#include "sassay/v1/agent.pb.h"

namespace sassay::agent {

// How much at once, and how.
struct BatchOptions {
  // Items worked on at once; each has a thread, which mostly waits.
  size_t concurrency = 64;
  // Records come in the order of the input instead of that of their ends.
  bool keep_order = false;
  // Of items that name none.
  std::string workload;
  // What besides sources and workload decides a verdict (stages, architecture); goes into item_sha256.
  std::string settings;
  // What paths of items are relative to.
  std::string working_directory;
  RetryPolicy retry;
};

// What a batch is made of; all of it outlives the Batch.
struct BatchParts {
  Judge& judge;
  // The workload of that name; threads: safe.
  std::function<absl::StatusOr<v1::Workload>(const std::string&)> find_workload;
  // Takes each record, one at a time. A failure ends the batch.
  std::function<absl::Status(const v1::BatchRecord&)> emit;
  // Records from before; null: none.
  const RecordFile* found = nullptr;
};

// Where a batch stands.
struct BatchProgress {
  v1::BatchSummary counts;
  uint64_t building = 0;  // compiled and captured here
  uint64_t submitted = 0;
  bool all_read = false;
};

// Reads items, judges them, emits one record for each: a line that is bad gets a record that says so.
//
// An item whose record is known is passed over. {"cancel": ID} gives up an item that was read before; its record says
// CANCELLED. What the service refuses for now (full queue, restart) is asked for again as long as the retry policy
// says. After Interrupt nothing more is read, what is under way is stopped, and has no record: the same input with the
// same file does it later.
// Life cycle: Run once. Threads: Interrupt and progress from any. Failure: CANCELLED after Interrupt; what `emit` or
// reading failed with.
class Batch {
 public:
  Batch(BatchParts parts, BatchOptions options);

  absl::Status Run(LineReader& input);
  void Interrupt();
  BatchProgress progress() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // One item on its way.
  struct Job {
    BatchItem item;
    uint64_t order = 0;
    Stopper stopper;
    uint64_t* counted = nullptr;  // the number of progress_ that it is in; guarded by mutex_
  };
  struct Candidate {
    v1::Workload workload;
    JudgeJob job;
    std::string sha256;
    std::string no_candidate;
    const RecordFile::Known* known = nullptr;  // of a record from before; null if there is none
  };

  absl::Status ReadAll(LineReader& input) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status TakeLine(const absl::StatusOr<std::optional<std::string>>& line, uint64_t number);
  void Enqueue(BatchItem item) ABSL_LOCKS_EXCLUDED(mutex_);
  void CancelItem(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  void Do(Job& job);
  // False if the item's record is known.
  bool MakeRecord(Job& job, v1::BatchRecord& record);
  static void TakeAnswer(const BatchItem& item, Candidate& candidate);
  absl::StatusOr<Candidate> Load(const BatchItem& item) const;
  // With patience for what may pass by itself.
  absl::StatusOr<v1::Verdict> Submit(Job& job, Candidate& candidate, v1::BatchRecord& record,
                                     std::string& submission_id);
  std::string RequestId(const BatchItem& item, const Candidate& candidate, unsigned attempt) const;
  // The record of the item with that place, or nothing for one that has none.
  void Finish(uint64_t order, const v1::BatchRecord* record) ABSL_LOCKS_EXCLUDED(mutex_);
  void Emit(const v1::BatchRecord& record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Counted(Job& job, uint64_t* number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool interrupted() const ABSL_LOCKS_EXCLUDED(mutex_);

  const BatchParts parts_;
  const BatchOptions options_;
  const std::string batch_id_;
  mutable absl::Mutex mutex_;
  LineReader* input_ ABSL_GUARDED_BY(mutex_) = nullptr;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Job>> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t waiting_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::shared_ptr<Job>> live_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> line_of_id_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_order_ ABSL_GUARDED_BY(mutex_) = 0;    // of the next item
  uint64_t next_emitted_ ABSL_GUARDED_BY(mutex_) = 0;  // with keep_order
  std::map<uint64_t, std::unique_ptr<v1::BatchRecord>> held_ ABSL_GUARDED_BY(mutex_);
  BatchProgress progress_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sassay::agent

#endif  // SASSAY_AGENT_BATCH_BATCH_H_
