#include "profiler_service/pipeline/device_lease.h"

#include <algorithm>

#include "absl/time/clock.h"

namespace sassay::pipeline {
namespace {

// How soon a cancellation is noticed while waiting.
constexpr absl::Duration kGlance = absl::Milliseconds(50);

}  // namespace

bool DeviceLease::Free(Mode mode) const {
  if (mode == Mode::kShared) return !writer_ && waiting_writers_ == 0;
  return !writer_ && readers_ == 0;
}

absl::StatusOr<DeviceLease::Held> DeviceLease::Acquire(Mode mode, absl::Time deadline,
                                                       const std::function<bool()>& cancelled) {
  absl::MutexLock lock(&mutex_);
  const bool writer = mode == Mode::kExclusive;
  waiting_writers_ += writer;
  absl::Status status;
  while (!Free(mode) && status.ok()) {
    if (cancelled()) status = absl::CancelledError("cancelled while waiting for the device");
    if (absl::Now() >= deadline) status = absl::DeadlineExceededError("the device did not become free in time");
    if (status.ok()) changed_.WaitWithDeadline(&mutex_, std::min(deadline, absl::Now() + kGlance));
  }
  waiting_writers_ -= writer;
  if (!status.ok()) {
    changed_.SignalAll();
    return status;
  }
  if (writer) {
    writer_ = true;
  } else {
    ++readers_;
  }
  return Held(this, mode);
}

void DeviceLease::Release(Mode mode) {
  absl::MutexLock lock(&mutex_);
  if (mode == Mode::kExclusive) {
    writer_ = false;
  } else {
    --readers_;
  }
  changed_.SignalAll();
}

}  // namespace sassay::pipeline
