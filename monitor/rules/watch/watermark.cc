#include "monitor/rules/watch/watermark.h"

#include <algorithm>

namespace sassay::monitor {
namespace {

template <typename List>
bool Contains(const List& list, const std::string& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

constexpr absl::Duration kProofsMayTake = absl::Seconds(10);

}  // namespace

void Watermark::Take(const Sample& sample) {
  if (sample.signal == "source.silent_seconds") {
    if (!Contains(policy_.sources(), sample.text)) return;
    absl::Time& read = sources_.emplace(sample.text, absl::InfinitePast()).first->second;
    read = std::max(read, sample.at - absl::Seconds(std::max(sample.value, 0.0)));
    return;
  }
  if (Contains(policy_.proofs(), sample.signal)) TakeProof(sample);
  if (Contains(policy_.signals(), sample.signal)) TakeRequired(sample);
}

void Watermark::TakeProof(const Sample& sample) {
  const auto [found, is_new] = counters_.try_emplace(sample.signal, Counter{sample.value, sample.at, sample.at});
  if (is_new) return;
  Counter& counter = found->second;
  if (counter.value != sample.value) counter.unchanged_since = sample.at;
  counter.value = sample.value;
  counter.newest = std::max(counter.newest, sample.at);
}

void Watermark::TakeRequired(const Sample& sample) {
  const auto [found, is_new] = signals_.try_emplace(sample.signal, sample.at);
  const absl::Time before = std::max(is_new ? restored_ : found->second, accounted_);
  found->second = std::max(found->second, sample.at);
  if (before == absl::InfinitePast() || sample.at - before <= absl::Seconds(policy_.fresh_s())) return;
  gap_ = gap_ ? Unwatched{std::min(gap_->from, before), std::max(gap_->to, sample.at)} : Unwatched{before, sample.at};
}

void Watermark::Restore(absl::Time through, absl::Time since, const std::map<std::string, double>& counters) {
  restored_ = through_ = through;
  since_ = since;
  for (const auto& [name, value] : counters) counters_[name] = Counter{value, through, through};
}

absl::Time Watermark::Newest() const {
  absl::Time oldest = absl::InfiniteFuture();
  for (const std::string& signal : policy_.signals()) {
    const auto found = signals_.find(signal);
    if (found == signals_.end()) return absl::InfinitePast();
    oldest = std::min(oldest, found->second);
  }
  for (const auto& [source, read] : sources_) oldest = std::min(oldest, read);
  return oldest;
}

bool Watermark::ProofsCame() const {
  return !counters_.empty() && std::all_of(counters_.begin(), counters_.end(),
                                           [&](const auto& named) { return named.second.newest >= gap_->to; });
}

bool Watermark::Proven() const {
  return ProofsCame() && std::all_of(counters_.begin(), counters_.end(),
                                     [&](const auto& named) { return named.second.unchanged_since <= gap_->from; });
}

absl::optional<Unwatched> Watermark::CloseGap(absl::Time now) {
  const bool proven = Proven();
  if (!proven && !ProofsCame() && now - gap_->to < kProofsMayTake) return absl::nullopt;
  Unwatched gap = *gap_;
  gap_.reset();
  accounted_ = gap.to;
  if (proven) return absl::nullopt;
  since_ = gap.to;
  gap.from = std::max(gap.from, gap.to - absl::Seconds(policy_.unwatched_exclusion_s()));
  return gap;
}

absl::optional<Unwatched> Watermark::Advance(absl::Time now, absl::Time limit) {
  absl::optional<Unwatched> unproven;
  if (gap_) unproven = CloseGap(now);
  if (gap_ || unproven) return unproven;
  const bool first = through_ == absl::InfinitePast();
  through_ = std::max(through_, std::min(Newest(), limit));
  if (first) since_ = through_;
  return absl::nullopt;
}

std::map<std::string, double> Watermark::Counters() const {
  std::map<std::string, double> values;
  for (const auto& [name, counter] : counters_) values[name] = counter.value;
  return values;
}

}  // namespace sassay::monitor
