#include "profiler_service/pipeline/device_lease.h"

#include <algorithm>

#include "common/base/steady_time.h"

namespace sassay::pipeline {
namespace {

// How soon a cancellation is noticed while waiting.
constexpr absl::Duration kGlance = absl::Milliseconds(50);

}  // namespace

bool DeviceLease::Free(Mode mode, uint64_t bytes) const {
  if (writer_) return false;
  if (readers_ == 0) return true;
  return mode == Mode::kShared && held_bytes_ <= memory_bytes_ && bytes <= memory_bytes_ - held_bytes_;
}

absl::StatusOr<DeviceLease::Held> DeviceLease::Acquire(Mode mode, uint64_t bytes, absl::Time deadline,
                                                       const std::function<bool()>& cancelled) {
  absl::MutexLock lock(&mutex_);
  const auto ticket = waiting_.insert(waiting_.end(), ++tickets_);
  absl::Status status;
  while ((waiting_.begin() != ticket || !Free(mode, bytes)) && status.ok()) {
    if (cancelled()) status = absl::CancelledError("cancelled while waiting for the device");
    if (SteadyNow() >= deadline) status = absl::DeadlineExceededError("the device did not become free in time");
    if (status.ok()) changed_.WaitWithTimeout(&mutex_, std::min(deadline - SteadyNow(), kGlance));
  }
  waiting_.erase(ticket);
  changed_.SignalAll();
  if (!status.ok()) return status;
  writer_ = mode == Mode::kExclusive;
  readers_ += mode == Mode::kShared;
  held_bytes_ += bytes;
  return Held(this, mode, bytes);
}

void DeviceLease::Release(Mode mode, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (mode == Mode::kExclusive) writer_ = false;
  readers_ -= mode == Mode::kShared;
  held_bytes_ -= bytes;
  changed_.SignalAll();
}

}  // namespace sassay::pipeline
