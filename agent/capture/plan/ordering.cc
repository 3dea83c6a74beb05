#include "agent/capture/plan/ordering.h"

#include <algorithm>
#include <utility>

namespace sassay::capture {

void Join(Cut& into, const Cut& more) {
  for (const auto& [stream, step] : more) {
    uint32_t& known = into.emplace(stream, step).first->second;
    known = std::max(known, step);
  }
}

uint32_t Ordering::Ordinal(uint64_t recorded_stream) {
  if (recorded_stream <= 1) return 0;
  return ordinals_.emplace(recorded_stream, static_cast<uint32_t>(ordinals_.size() + 1)).first->second;
}

Cut Ordering::Pending(uint32_t stream) const {
  Cut cut;
  if (const auto waiting = waiting_.find(stream); waiting != waiting_.end()) cut = waiting->second;
  const auto seen = barriers_seen_.find(stream);
  if ((seen == barriers_seen_.end() ? 0 : seen->second) != barriers_) Join(cut, barrier_);
  return cut;
}

Cut Ordering::Frontier(uint32_t stream) const {
  Cut cut = Pending(stream);
  if (const auto last = last_.find(stream); last != last_.end()) Join(cut, {{stream, last->second}});
  return cut;
}

Cut Ordering::FrontierOfAll() const {
  Cut cut = barrier_;
  for (uint32_t stream : touched_) Join(cut, Frontier(stream));
  return cut;
}

void Ordering::RaiseBarrier(Cut cut, bool everything) {
  if (everything) {
    barrier_ = std::move(cut);
    waiting_.clear();
    touched_.clear();
  } else {
    Join(barrier_, cut);
  }
  ++barriers_;
}

Ordering::Position Ordering::Next(uint32_t index, uint64_t recorded_stream) {
  Position position;
  position.stream = Ordinal(recorded_stream);
  const Cut cut = recorded_stream == 0 ? FrontierOfAll() : Pending(position.stream);
  for (const auto& [stream, step] : cut) {
    if (stream != position.stream) position.depends_on.push_back(step);
  }
  std::sort(position.depends_on.begin(), position.depends_on.end());
  waiting_.erase(position.stream);
  last_[position.stream] = index;
  if (recorded_stream == 0) RaiseBarrier({{0, index}}, /*everything=*/true);
  barriers_seen_[position.stream] = barriers_;
  touched_.insert(position.stream);
  return position;
}

void Ordering::OnEventRecord(const EventRecord& event) {
  events_[event.event()] = event.stream() == 0 ? FrontierOfAll() : Frontier(Ordinal(event.stream()));
}

void Ordering::OnStreamWait(const StreamWait& wait) {
  const auto found = events_.find(wait.event());
  if (found == events_.end()) return;
  const uint32_t stream = Ordinal(wait.stream());
  Join(waiting_[stream], found->second);
  touched_.insert(stream);
}

void Ordering::OnHostWait(const HostWait& wait) {
  if (wait.scope() == HostWait::DEVICE || (wait.scope() == HostWait::STREAM && wait.id() == 0))
    return RaiseBarrier(FrontierOfAll(), /*everything=*/true);
  if (wait.scope() == HostWait::STREAM) return RaiseBarrier(Frontier(Ordinal(wait.id())), /*everything=*/false);
  const auto found = events_.find(wait.id());
  if (found != events_.end()) RaiseBarrier(found->second, /*everything=*/false);
}

}  // namespace sassay::capture
