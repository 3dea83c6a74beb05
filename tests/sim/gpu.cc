#include "tests/sim/gpu.h"

#include <utility>

namespace sassay::sim {
namespace {

constexpr Ns kExclusivePatience = kSecond;
constexpr Ns kSharedPatience = 10 * kSecond;

}  // namespace

void Gpu::Account(Ns now) {
  if (users() > 0) busy_ += now - since_;
  since_ = now;
}

std::vector<size_t> Gpu::Grant(Ns now) {
  std::vector<size_t> granted;
  if (alone_) return granted;
  const bool one_waits = !exclusive_.empty();
  if (sharing_ == 0 && one_waits) {
    const bool shared_first = !shared_.empty() && now - shared_.front().since >= kSharedPatience &&
                              shared_.front().since < exclusive_.front().since;
    if (!shared_first) {
      Account(now);
      alone_ = true;
      granted.push_back(exclusive_.front().job);
      exclusive_.pop_front();
      return granted;
    }
  }
  if (sharing_ > 0 && one_waits && now - exclusive_.front().since >= kExclusivePatience) return granted;
  Account(now);
  for (const Waiter& waiter : shared_) granted.push_back(waiter.job);
  sharing_ += static_cast<uint32_t>(shared_.size());
  shared_.clear();
  return granted;
}

void Gpu::Release(bool exclusive, Ns now) {
  Account(now);
  if (exclusive) {
    alone_ = false;
  } else {
    --sharing_;
  }
}

void Gpu::Clear(Ns now) {
  Account(now);
  jobs_ = sharing_ = 0;
  alone_ = false;
  shared_.clear();
  exclusive_.clear();
  states_.clear();
}

bool Gpu::Holds(size_t workload) const { return std::find(states_.begin(), states_.end(), workload) != states_.end(); }

void Gpu::Use(size_t workload) {
  const auto found = std::find(states_.begin(), states_.end(), workload);
  if (found != states_.end()) states_.erase(found);
  states_.insert(states_.begin(), workload);
  if (states_.size() > kStates) states_.pop_back();
}

}  // namespace sassay::sim
