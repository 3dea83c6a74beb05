#include "agent/capture/plan/ordering.h"

#include <utility>

namespace sassay::capture {

uint32_t Ordering::Ordinal(uint64_t recorded_stream) {
  if (recorded_stream <= 1) return 0;
  const auto [position, added] = ordinals_.emplace(recorded_stream, static_cast<uint32_t>(ordinals_.size() + 1));
  if (added) HoldUp(position->second, host_waited_);
  return position->second;
}

std::set<uint32_t> Ordering::Frontier(uint32_t stream) const {
  std::set<uint32_t> steps;
  if (const auto last = last_.find(stream); last != last_.end()) steps.insert(last->second);
  if (const auto waiting = waiting_.find(stream); waiting != waiting_.end()) {
    steps.insert(waiting->second.begin(), waiting->second.end());
  }
  return steps;
}

std::set<uint32_t> Ordering::FrontierOfAll() const {
  std::set<uint32_t> steps = Frontier(0);
  for (const auto& [recorded, ordinal] : ordinals_) {
    const std::set<uint32_t> more = Frontier(ordinal);
    steps.insert(more.begin(), more.end());
  }
  return steps;
}

void Ordering::HoldUp(uint32_t stream, const std::set<uint32_t>& steps) {
  for (uint32_t step : steps) {
    if (stream_of_step_[step] != stream) waiting_[stream].insert(step);
  }
}

void Ordering::HoldUpAll(const std::set<uint32_t>& steps) {
  host_waited_.insert(steps.begin(), steps.end());
  HoldUp(0, steps);
  for (const auto& [recorded, ordinal] : ordinals_) HoldUp(ordinal, steps);
}

Ordering::Position Ordering::Next(uint32_t index, uint64_t recorded_stream) {
  Position position;
  position.stream = Ordinal(recorded_stream);
  stream_of_step_.resize(index + 1, position.stream);
  stream_of_step_[index] = position.stream;
  if (recorded_stream == 0) HoldUp(0, FrontierOfAll());
  const std::set<uint32_t> waiting = std::exchange(waiting_[position.stream], {});
  position.depends_on.assign(waiting.begin(), waiting.end());
  last_[position.stream] = index;
  if (recorded_stream == 0) HoldUpAll({index});
  return position;
}

void Ordering::OnEventRecord(const EventRecord& event) {
  events_[event.event()] = event.stream() == 0 ? FrontierOfAll() : Frontier(Ordinal(event.stream()));
}

void Ordering::OnStreamWait(const StreamWait& wait) {
  const auto found = events_.find(wait.event());
  if (found != events_.end()) HoldUp(Ordinal(wait.stream()), found->second);
}

void Ordering::OnHostWait(const HostWait& wait) {
  if (wait.scope() == HostWait::DEVICE || (wait.scope() == HostWait::STREAM && wait.id() == 0))
    return HoldUpAll(FrontierOfAll());
  if (wait.scope() == HostWait::STREAM) return HoldUpAll(Frontier(Ordinal(wait.id())));
  const auto found = events_.find(wait.id());
  if (found != events_.end()) HoldUpAll(found->second);
}

}  // namespace sassay::capture
