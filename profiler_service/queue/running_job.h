// One attempt while it runs: the lease, and the ear and mouth of its runner.
#ifndef SASSAY_PROFILER_SERVICE_QUEUE_RUNNING_JOB_H_
#define SASSAY_PROFILER_SERVICE_QUEUE_RUNNING_JOB_H_

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "profiler_service/pipeline/job.h"
#include "profiler_service/store/store.h"

namespace sassay::queue {

// Why a runner is asked to give up. The first one stands.
enum class Interruption { kNone, kCancelled, kLeaseLost, kStopping, kOverdue, kExcluded, kNoOpenGpu };

// Thread-safe. Made by Queue::Next, ended by Queue::Conclude.
class RunningJob : public JobObserver {
 public:
  using Append = std::function<void(const store::Lease&, sassay::v1::Event)>;
  using StageHook = std::function<void(const sassay::v1::StageReport&)>;

  RunningJob(store::Lease lease, absl::Time deadline, std::function<absl::Time()> now, Append append,
             StageHook stage_finished)
      : lease_(std::move(lease)),
        deadline_(deadline),
        now_(std::move(now)),
        append_(std::move(append)),
        stage_finished_(std::move(stage_finished)) {}

  const store::Lease& lease() const { return lease_; }
  // When the stages must have ended.
  absl::Time deadline() const { return deadline_; }

  void Interrupt(Interruption why) {
    Interruption none = Interruption::kNone;
    interruption_.compare_exchange_strong(none, why);
  }
  Interruption interruption() const { return interruption_; }
  // A runner that does not end by itself is told to, this long after its deadline.
  static constexpr absl::Duration kGrace = absl::Seconds(15);
  void InterruptIfOverdue() {
    if (now_() > deadline_ + kGrace) Interrupt(Interruption::kOverdue);
  }

  void SeatTaken(absl::string_view gpu) override;
  // Where it has its place, and since when; empty and InfiniteFuture before it has one.
  std::pair<std::string, absl::Time> seat() const ABSL_LOCKS_EXCLUDED(mutex_);
  void StageStarted(sassay::v1::Stage stage, absl::string_view device) override;
  void StageFinished(const sassay::v1::StageReport& report) override;
  void FoundNoOpenGpu(absl::string_view) override { Interrupt(Interruption::kNoOpenGpu); }
  bool cancelled() const override { return interruption_ != Interruption::kNone; }

 private:
  void Say(sassay::v1::Event event);

  const store::Lease lease_;
  const absl::Time deadline_;
  const std::function<absl::Time()> now_;
  const Append append_;
  const StageHook stage_finished_;
  std::atomic<Interruption> interruption_ = Interruption::kNone;
  mutable absl::Mutex mutex_;
  std::string gpu_ ABSL_GUARDED_BY(mutex_);
  absl::Time seated_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
};

}  // namespace sassay::queue

#endif  // SASSAY_PROFILER_SERVICE_QUEUE_RUNNING_JOB_H_
