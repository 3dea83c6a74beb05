#include "monitor/rules/state/canary_book.h"

#include <algorithm>

namespace sassay::monitor {
namespace {

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + half, values.end());
  return values[half];
}

template <typename List>
CanaryTimes Medians(const List& list) {
  std::vector<double> tensor, memory;
  for (const CanaryTimes& times : list) {
    tensor.push_back(times.tensor_ns);
    memory.push_back(times.memory_ns);
  }
  return {MedianOf(tensor), MedianOf(memory)};
}

double Ratio(double time, double reference) { return time > 0 && reference > 0 ? time / reference : 0; }

CanaryTimes Ratios(const CanaryTimes& times, const CanaryTimes& reference) {
  return {Ratio(times.tensor_ns, reference.tensor_ns), Ratio(times.memory_ns, reference.memory_ns)};
}

}  // namespace

bool CanaryBook::IsDue(absl::Time now, bool healthy) const {
  if (impossible_ || now < not_before_) return false;
  if (in_flight_) return now - asked_ >= absl::Seconds(policy_.timeout_s());
  if (!runs_.empty()) return now - last_ >= absl::Seconds(policy_.confirm_every_s());
  if (wanted_) return true;
  return healthy && policy_.period_s() > 0 && now - last_ >= absl::Seconds(policy_.period_s());
}

void CanaryBook::Asked(absl::Time now) {
  asked_ = now;
  in_flight_ = true;
  wanted_ = false;
}

void CanaryBook::Failed(absl::Time again) {
  in_flight_ = false;
  wanted_ = true;
  not_before_ = again;
}

size_t CanaryBook::Suspicious(double CanaryTimes::*kernel) const {
  return std::count_if(runs_.begin(), runs_.end(),
                       [&](const Run& run) { return run.ratios.*kernel > policy_.suspicion_ratio(); });
}

bool CanaryBook::Decided(bool& clean) const {
  const size_t majority = policy_.confirmations() / 2 + 1;
  const size_t tensor = Suspicious(&CanaryTimes::tensor_ns);
  const size_t memory = Suspicious(&CanaryTimes::memory_ns);
  const CanaryTimes& newest = runs_.back().ratios;
  const bool certain = std::max(newest.tensor_ns, newest.memory_ns) > policy_.certain_ratio();
  const bool slow = certain || tensor >= majority || memory >= majority;
  const bool fine = runs_.size() - tensor >= majority && runs_.size() - memory >= majority;
  const bool unsuspected = runs_.size() == 1 && tensor + memory == 0;
  clean = !slow && (fine || unsuspected);
  return slow || clean;
}

CanaryVerdict CanaryBook::Conclude(bool clean) const {
  std::vector<CanaryTimes> ratios;
  for (const Run& run : runs_) ratios.push_back(run.ratios);
  CanaryTimes middle = Medians(ratios);
  const CanaryTimes& newest = runs_.back().ratios;
  // One that needs no repetition stands for itself.
  if (std::max(newest.tensor_ns, newest.memory_ns) > policy_.certain_ratio()) middle = newest;
  return {clean, clean ? runs_.back().at : runs_.front().at, middle.tensor_ns, middle.memory_ns, 0, 0};
}

void CanaryBook::Remember() {
  history_.push_back(Medians(times_));
  while (history_.size() > policy_.history()) history_.pop_front();
  SetReference();
}

void CanaryBook::SetReference() {
  reference_ = history_.size() < policy_.minimum_history() ? CanaryTimes{} : Medians(history_);
}

absl::optional<CanaryVerdict> CanaryBook::Took(absl::Time at, const CanaryTimes& times, const CanaryTimes& peers,
                                               bool remember) {
  in_flight_ = false;
  last_ = at;
  const CanaryTimes own = reference_;
  runs_.push_back({at, Ratios(times, own.tensor_ns > 0 ? own : peers)});
  times_.push_back(times);
  bool clean = false;
  if (!Decided(clean)) return absl::nullopt;
  CanaryVerdict verdict = Conclude(clean);
  const CanaryTimes beside = Ratios(Medians(times_), peers);
  verdict.tensor_peer_ratio = beside.tensor_ns;
  verdict.memory_peer_ratio = beside.memory_ns;
  if (clean && remember) Remember();
  runs_.clear();
  times_.clear();
  verdict_ = verdict;
  return verdict;
}

absl::optional<absl::Time> CanaryBook::DoubtSince() const {
  if (runs_.empty()) return absl::nullopt;
  return runs_.front().at;
}

void CanaryBook::Restore(std::deque<CanaryTimes> history, absl::Time last, bool impossible) {
  history_ = std::move(history);
  last_ = last;
  impossible_ = impossible;
  wanted_ = false;
  SetReference();
}

}  // namespace sassay::monitor
