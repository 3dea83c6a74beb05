#include "agent/models/throttle.h"

#include <algorithm>

#include "common/base/steady_time.h"

namespace sassay::agent {
namespace {

constexpr double kUnlimited = 1e6;

}  // namespace

Throttle::Throttle(uint32_t limit) : limit_(limit == 0 ? kUnlimited : limit), width_(limit_) {}

absl::Time Throttle::Now() const { return SteadyNow(); }

bool Throttle::MayEnter(uint64_t ticket) const {
  return waiting_.begin()->first == ticket && active_ < std::max(1.0, width_);
}

absl::StatusOr<Throttle::Pass> Throttle::Enter(Stopper& stopper) {
  uint64_t ticket = 0;
  {
    absl::MutexLock lock(&mutex_);
    ticket = ++last_ticket_;
    waiting_[ticket];
  }
  const Stopper::Callback wake(stopper, [this, ticket] {
    absl::MutexLock lock(&mutex_);
    const auto found = waiting_.find(ticket);
    if (found != waiting_.end()) found->second.stopped = true;
  });
  absl::MutexLock lock(&mutex_);
  const Waiter& waiter = waiting_[ticket];
  const auto ready = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return waiter.stopped || MayEnter(ticket); };
  const auto stopped = [&] { return waiter.stopped; };
  mutex_.Await(absl::Condition(&ready));
  // First in line: nobody passes while the server wants peace, which may be asked for again meanwhile, and then the
  // limit is another one, too.
  while (!waiter.stopped && Now() < peace_until_) {
    AwaitUntil(mutex_, absl::Condition(&stopped), peace_until_);
    mutex_.Await(absl::Condition(&ready));
  }
  const bool cancelled = waiter.stopped;
  waiting_.erase(ticket);
  if (cancelled) return absl::CancelledError("stopped");
  ++active_;
  return Pass(*this, Now());
}

double Throttle::width() const {
  absl::MutexLock lock(&mutex_);
  return width_;
}

size_t Throttle::waiting() const {
  absl::MutexLock lock(&mutex_);
  return waiting_.size();
}

Throttle::Pass::~Pass() {
  if (throttle_ == nullptr) return;
  absl::MutexLock lock(&throttle_->mutex_);
  --throttle_->active_;
}

void Throttle::Pass::Succeeded() {
  absl::MutexLock lock(&throttle_->mutex_);
  throttle_->width_ = std::min(throttle_->limit_, throttle_->width_ + 1 / std::max(1.0, throttle_->width_));
}

void Throttle::Pass::Refused(absl::Duration wait) {
  absl::MutexLock lock(&throttle_->mutex_);
  const absl::Time now = throttle_->Now();
  throttle_->peace_until_ = std::max(throttle_->peace_until_, now + wait);
  // Others that entered with this one are turned away for the same reason.
  if (entered_ <= throttle_->narrowed_) return;
  throttle_->narrowed_ = now;
  throttle_->width_ = std::max(1.0, std::min<double>(throttle_->width_, throttle_->active_) / 2);
}

}  // namespace sassay::agent
