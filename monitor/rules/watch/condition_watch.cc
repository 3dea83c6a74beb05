#include "monitor/rules/watch/condition_watch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "monitor/rules/signals.h"

namespace sassay::monitor {
namespace {

constexpr size_t kMostEvidence = 8;

bool IsWindowed(v1::Condition::Aggregate aggregate) {
  return aggregate != v1::Condition::AGGREGATE_UNSPECIFIED && aggregate != v1::Condition::ANY;
}

size_t MinSamples(const v1::Condition& condition) {
  const bool two = condition.aggregate() == v1::Condition::INCREASE || condition.aggregate() == v1::Condition::RATE;
  return std::max<size_t>(condition.min_samples(), two ? 2 : 1);
}

bool IsOccasional(const std::string& signal) {
  const Signal* known = FindSignal(signal);
  return known != nullptr && known->kind == SignalKind::kOccasion;
}

double Median(std::vector<double> values) {
  const size_t half = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + half, values.end());
  if (values.size() % 2 == 1) return values[half];
  return (values[half] + *std::max_element(values.begin(), values.begin() + half)) / 2;
}

}  // namespace

ConditionWatch::ConditionWatch(const v1::Condition& condition)
    : condition_(condition),
      occasional_(IsOccasional(condition.signal())),
      event_(condition.codes_size() > 0 || condition.aggregate() == v1::Condition::COUNT ||
             (occasional_ && !IsWindowed(condition.aggregate()))),
      window_(absl::Seconds(condition.window_s())),
      min_samples_(MinSamples(condition)) {}

bool ConditionWatch::IsCounter() const {
  return condition_.aggregate() == v1::Condition::INCREASE || condition_.aggregate() == v1::Condition::RATE;
}

bool ConditionWatch::TextFits(const Sample& sample) const {
  // "nvml" is not "nvml_state".
  if (sample.signal == "source.silent_seconds") return sample.text == condition_.text();
  return absl::StrContains(sample.text, condition_.text());
}

bool ConditionWatch::Wants(const Sample& sample) const {
  if (!std::isfinite(sample.value)) return false;
  if (!condition_.text().empty() && !TextFits(sample)) return false;
  const bool single = event_ && condition_.aggregate() != v1::Condition::COUNT;
  if (condition_.codes_size() == 0) return !single || Beyond(sample.value);
  const auto& codes = condition_.codes();
  return std::any_of(codes.begin(), codes.end(), [&](uint32_t code) { return sample.value == code; });
}

void ConditionWatch::Take(const Sample& given) {
  newest_ = std::max(given.at, newest_);
  if (!IsWindowed(condition_.aggregate())) samples_.clear();
  // A counter that stands still is told by the first and the last sample of that time.
  if (StandsStill(given.value)) samples_.pop_back();
  samples_.push_back({newest_, given.value, given.text});
  if (samples_.size() > kMostSamples) samples_.pop_front();
  Trim(newest_);
  event_ ? TakeEvent(samples_.back()) : Judge(samples_.back());
}

bool ConditionWatch::StandsStill(double value) const {
  const size_t size = samples_.size();
  return IsCounter() && size > min_samples_ && samples_[size - 1].value == value && samples_[size - 2].value == value;
}

void ConditionWatch::Trim(absl::Time now) {
  if (!IsWindowed(condition_.aggregate())) return;
  // The newest sample before the window says how it began; for a count only what lies inside matters.
  const size_t before = condition_.aggregate() == v1::Condition::COUNT ? 0 : 1;
  while (samples_.size() > before && samples_[before].at <= now - window_) samples_.pop_front();
}

bool ConditionWatch::Beyond(double value) const {
  if (condition_.has_any_bit()) {
    return value >= 0 && value < 18446744073709551615.0 && (static_cast<uint64_t>(value) & condition_.any_bit()) != 0;
  }
  return condition_.has_above() ? value > condition_.above() : value < condition_.below();
}

bool ConditionWatch::Cleared(double value) const {
  if (!condition_.has_clear() || condition_.has_any_bit()) return !Beyond(value);
  return condition_.has_above() ? value <= condition_.clear() : value >= condition_.clear();
}

bool ConditionWatch::BadByItself(const Seen& sample) const {
  // A counter's value says nothing by itself.
  return !IsCounter() && Beyond(sample.value);
}

double ConditionWatch::Increase() const {
  double increase = 0;
  for (size_t i = 1; i < samples_.size(); ++i) {
    const double step = samples_[i].value - samples_[i - 1].value;
    increase += step >= 0 ? step : samples_[i].value;
  }
  return increase;
}

double ConditionWatch::Mean() const {
  double sum = 0;
  for (const Seen& sample : samples_) sum += sample.value;
  return sum / static_cast<double>(samples_.size());
}

// The one of the window that is farthest on the good side.
double ConditionWatch::Best() const {
  double best = samples_.front().value;
  for (const Seen& sample : samples_)
    best = condition_.has_above() ? std::min(best, sample.value) : std::max(best, sample.value);
  return best;
}

double ConditionWatch::Middle() const {
  std::vector<double> values;
  for (const Seen& sample : samples_) values.push_back(sample.value);
  return Median(std::move(values));
}

absl::optional<double> ConditionWatch::Aggregate() const {
  if (samples_.size() < min_samples_) return absl::nullopt;
  const absl::Duration watched = samples_.back().at - samples_.front().at;
  switch (condition_.aggregate()) {
    case v1::Condition::ALL:
      return watched < window_ ? absl::nullopt : absl::optional<double>(Best());
    case v1::Condition::MEAN:
      return Mean();
    case v1::Condition::MEDIAN:
      return Middle();
    case v1::Condition::INCREASE:
      return Increase();
    case v1::Condition::RATE:
      if (watched <= absl::ZeroDuration()) return absl::nullopt;
      return Increase() / absl::ToDoubleSeconds(std::min(window_, watched));
    default:
      return samples_.back().value;
  }
}

absl::Time ConditionWatch::FirstBadOfWindow() const {
  for (size_t i = 0; i < samples_.size(); ++i) {
    const bool rose = i > 0 && samples_[i].value != samples_[i - 1].value;
    if (IsCounter() ? rose : BadByItself(samples_[i])) return samples_[i].at;
  }
  return samples_.back().at;
}

void ConditionWatch::TurnBad(absl::Time first, absl::Time last) {
  if (!bad_) {
    first_bad_ = first;
    good_before_ = absl::InfinitePast();
    for (const Seen& sample : samples_) {
      if (sample.at < first) good_before_ = sample.at;
    }
    if (last_good_ && last_good_->at < first) good_before_ = std::max(good_before_, last_good_->at);
  }
  bad_ = true;
  last_bad_ = last;
}

void ConditionWatch::Judge(const Seen& sample) {
  const absl::optional<double> value = Aggregate();
  if (value && Beyond(*value)) {
    TurnBad(FirstBadOfWindow(), sample.at);
  } else if (bad_ && value && Cleared(*value)) {
    bad_ = false;
    good_since_ = sample.at;
  } else if (bad_) {
    last_bad_ = sample.at;
  } else if (good_since_ == absl::InfinitePast()) {
    good_since_ = sample.at;
  }
  if (!BadByItself(sample)) last_good_ = sample;
}

void ConditionWatch::TakeEvent(const Seen& sample) {
  const bool count = condition_.aggregate() == v1::Condition::COUNT;
  const bool enough = !count || static_cast<double>(samples_.size()) > condition_.above();
  if (enough) TurnBad(samples_.front().at, sample.at);
}

void ConditionWatch::Advance(absl::Time now) {
  if (event_) {
    if (condition_.aggregate() == v1::Condition::COUNT) Trim(now);
    const bool lasts =
        condition_.aggregate() == v1::Condition::COUNT && static_cast<double>(samples_.size()) > condition_.above();
    if (bad_ && !lasts && now > last_bad_) {
      bad_ = false;
      good_since_ = last_bad_;
    }
    return;
  }
  if (!occasional_ || now - newest_ < std::max(window_, absl::Minutes(10))) return;
  samples_.clear();
  if (bad_) good_since_ = last_bad_;
  bad_ = false;
}

bool ConditionWatch::Held(absl::Duration hold, absl::Time now) const {
  if (bad_) return false;
  if (newest_ == absl::InfinitePast()) return true;
  if (event_ || (occasional_ && samples_.empty())) return now >= last_bad_ + hold;
  return newest_ >= good_since_ + hold;
}

absl::optional<absl::Time> ConditionWatch::DoubtSince() const {
  if (bad_ || event_ || !IsWindowed(condition_.aggregate())) return absl::nullopt;
  for (const Seen& sample : samples_) {
    if (BadByItself(sample)) return sample.at;
  }
  return absl::nullopt;
}

std::vector<Sample> ConditionWatch::Evidence(const std::string& gpu) const {
  std::vector<Sample> evidence;
  const auto add = [&](const Seen& seen) {
    evidence.push_back({seen.at, gpu, condition_.signal(), seen.value, seen.text});
  };
  if (last_good_ && last_good_->at < first_bad_) add(*last_good_);
  const size_t most = std::min(samples_.size(), kMostEvidence - evidence.size());
  std::for_each(samples_.end() - static_cast<std::ptrdiff_t>(most), samples_.end(), add);
  return evidence;
}

}  // namespace sassay::monitor
