// Who may use a device: many stages that only need it, or one that measures on it.
#ifndef SASSAY_PROFILER_SERVICE_PIPELINE_DEVICE_LEASE_H_
#define SASSAY_PROFILER_SERVICE_PIPELINE_DEVICE_LEASE_H_

#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sassay::pipeline {

// A reader-writer lease. A waiting writer lets no further reader in, so that timing is not starved. Thread-safe; must
// outlive what it handed out.
class DeviceLease {
 public:
  enum class Mode { kShared, kExclusive };

  // Holds the lease until it is destroyed. Move-only.
  class Held {
   public:
    Held(Held&& other) noexcept : lease_(std::exchange(other.lease_, nullptr)), mode_(other.mode_) {}
    Held& operator=(Held&&) = delete;
    ~Held() {
      if (lease_ != nullptr) lease_->Release(mode_);
    }

   private:
    friend class DeviceLease;
    Held(DeviceLease* lease, Mode mode) : lease_(lease), mode_(mode) {}
    DeviceLease* lease_;
    Mode mode_;
  };

  // DEADLINE_EXCEEDED, or CANCELLED within a moment after `cancelled` says so.
  absl::StatusOr<Held> Acquire(Mode mode, absl::Time deadline, const std::function<bool()>& cancelled)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool Free(Mode mode) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(Mode mode) ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  absl::CondVar changed_;
  int readers_ ABSL_GUARDED_BY(mutex_) = 0;
  int waiting_writers_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writer_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sassay::pipeline

#endif  // SASSAY_PROFILER_SERVICE_PIPELINE_DEVICE_LEASE_H_
