#include "monitor/actions/executor.h"

#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sassay::monitor {
namespace {

std::string LaneOf(const Decision& decision) {
  switch (decision.kind) {
    case DecisionKind::kRecordIncident:
      return "incidents";
    case DecisionKind::kRestartService:
      return "service";
    case DecisionKind::kRunCanary:
      return absl::StrCat("canary ", decision.gpu);
    default:
      return absl::StrCat("gpu ", decision.gpu);
  }
}

}  // namespace

// One thread and what waits for it; guarded by Executor::mutex_.
struct Executor::Lane {
  std::deque<Decision> waiting;
  std::thread thread;
};

Executor::Executor(CarryOutFunction carry_out, std::function<void()> done)
    : carry_out_(std::move(carry_out)), done_(std::move(done)) {}

Executor::~Executor() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (auto& [name, lane] : lanes_) lane->thread.join();
}

void Executor::Submit(const std::vector<Decision>& due) {
  absl::MutexLock lock(&mutex_);
  for (const Decision& decision : due) {
    if (!under_way_.insert(decision.id).second) continue;
    std::unique_ptr<Lane>& lane = lanes_[LaneOf(decision)];
    if (lane == nullptr) {
      lane = std::make_unique<Lane>();
      lane->thread = std::thread([this, started = lane.get()] { RunLane(*started); });
    }
    lane->waiting.push_back(decision);
  }
}

void Executor::RunLane(Lane& lane) {
  const auto ready = [this, &lane]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopping_ || !lane.waiting.empty(); };
  while (true) {
    Decision decision;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&ready));
      if (stopping_) return;
      decision = std::move(lane.waiting.front());
      lane.waiting.pop_front();
    }
    Outcome outcome = carry_out_(decision);
    {
      absl::MutexLock lock(&mutex_);
      outcomes_.push_back(std::move(outcome));
    }
    done_();
  }
}

std::vector<Outcome> Executor::TakeOutcomes() {
  absl::MutexLock lock(&mutex_);
  for (const Outcome& outcome : outcomes_) under_way_.erase(outcome.id);
  return std::exchange(outcomes_, {});
}

size_t Executor::under_way() const {
  absl::MutexLock lock(&mutex_);
  return under_way_.size();
}

}  // namespace sassay::monitor
