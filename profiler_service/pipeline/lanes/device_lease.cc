#include "profiler_service/pipeline/lanes/device_lease.h"

#include <algorithm>

#include "common/base/steady_time.h"

namespace sassay::pipeline {
namespace {

// How soon a cancellation is noticed while waiting.
constexpr absl::Duration kGlance = absl::Milliseconds(50);

}  // namespace

const DeviceLease::Waiter* DeviceLease::First(Mode mode) const {
  const auto first = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiter& w) { return w.mode == mode; });
  return first == waiting_.end() ? nullptr : &*first;
}

bool DeviceLease::Overtakes(const Waiter& waiter, const Waiter& other) const {
  const absl::Duration patience = other.mode == Mode::kExclusive ? patience_.exclusive : patience_.shared;
  return waiter.ticket < other.ticket || SteadyNow() - other.since < patience;
}

void DeviceLease::Account() {
  const absl::Time now = SteadyNow();
  const absl::Duration passed = now - booked_;
  booked_ = now;
  if (writer_) usage_.exclusive += passed;
  if (readers_ > 0) (First(Mode::kExclusive) != nullptr ? usage_.awaited : usage_.shared) += passed;
}

DeviceLease::Usage DeviceLease::usage() const {
  absl::MutexLock lock(&mutex_);
  return usage_;
}

bool DeviceLease::Fits(uint64_t bytes) const {
  return readers_ == 0 || (held_bytes_ <= memory_bytes_ && bytes <= memory_bytes_ - held_bytes_);
}

const DeviceLease::Waiter* DeviceLease::Next() const {
  if (writer_) return nullptr;
  const Waiter* alone = First(Mode::kExclusive);
  const Waiter* sharing = First(Mode::kShared);
  if (readers_ == 0) {
    const bool alone_goes = alone != nullptr && (sharing == nullptr || Overtakes(*alone, *sharing));
    return alone_goes ? alone : sharing;
  }
  const bool joins = sharing != nullptr && Fits(sharing->bytes) && (alone == nullptr || Overtakes(*sharing, *alone));
  return joins ? sharing : nullptr;
}

absl::StatusOr<DeviceLease::Held> DeviceLease::Acquire(Mode mode, uint64_t bytes, absl::Time deadline,
                                                       const std::function<bool()>& cancelled) {
  absl::MutexLock lock(&mutex_);
  Account();
  const auto me = waiting_.insert(waiting_.end(), Waiter{mode, bytes, ++tickets_, SteadyNow()});
  absl::Status status;
  while (Next() != &*me && status.ok()) {
    if (cancelled()) status = absl::CancelledError("cancelled while waiting for the device");
    if (SteadyNow() >= deadline) status = absl::DeadlineExceededError("the device did not become free in time");
    if (status.ok()) changed_.WaitWithTimeout(&mutex_, std::min(deadline - SteadyNow(), kGlance));
  }
  Account();
  waiting_.erase(me);
  changed_.SignalAll();
  if (!status.ok()) return status;
  writer_ = mode == Mode::kExclusive;
  usage_.times_exclusive += writer_;
  readers_ += mode == Mode::kShared;
  held_bytes_ += bytes;
  return Held(this, mode, bytes);
}

void DeviceLease::Release(Mode mode, uint64_t bytes) {
  absl::MutexLock lock(&mutex_);
  Account();
  if (mode == Mode::kExclusive) writer_ = false;
  readers_ -= mode == Mode::kShared;
  held_bytes_ -= bytes;
  changed_.SignalAll();
}

}  // namespace sassay::pipeline
