#include "monitor/rules/watch/rule_watch.h"

#include <algorithm>

namespace sassay::monitor {
namespace {

absl::string_view LastWord(absl::string_view text) { return text.substr(text.rfind(' ') + 1); }

}  // namespace

RuleWatch::RuleWatch(const v1::Rule& rule) : rule_(rule) {
  for (const v1::Condition& condition : rule.when()) {
    conditions_.push_back(std::make_unique<ConditionWatch>(condition));
  }
}

void RuleWatch::Take(const Sample& sample) {
  if (Excusable() && sample.signal == rule_.excuse().signal()) {
    excuses_.push_back(sample);
    if (excuses_.size() > kMostWaiting) excuses_.pop_front();
  }
  for (size_t i = 0; i < conditions_.size(); ++i) {
    if (rule_.when(static_cast<int>(i)).signal() != sample.signal || !conditions_[i]->Wants(sample)) continue;
    if (Excusable()) {
      waiting_.push_back(sample);
      if (waiting_.size() > kMostWaiting) waiting_.pop_front();
      return;
    }
    conditions_[i]->Take(sample);
    newest_ = sample;
  }
}

bool RuleWatch::Excuses(const Sample& excuse, const Sample& event, absl::Duration within) const {
  if (absl::AbsDuration(excuse.at - event.at) > within) return false;
  return !rule_.excuse().same_submission() || LastWord(excuse.text) == LastWord(event.text);
}

void RuleWatch::Feed(const Sample& sample) {
  newest_ = sample;
  for (size_t i = 0; i < conditions_.size(); ++i) {
    const bool same = rule_.when(static_cast<int>(i)).signal() == sample.signal;
    if (same && conditions_[i]->Wants(sample)) conditions_[i]->Take(sample);
  }
}

std::vector<Excused> RuleWatch::Advance(absl::Time now) {
  for (const auto& condition : conditions_) condition->Advance(now);
  std::vector<Excused> excused;
  if (waiting_.empty() && excuses_.empty()) return excused;
  std::deque<Sample> still;
  const absl::Duration within = absl::Seconds(rule_.excuse().within_s());
  for (const Sample& event : waiting_) {
    const auto by = std::find_if(excuses_.begin(), excuses_.end(),
                                 [&](const Sample& excuse) { return Excuses(excuse, event, within); });
    if (by != excuses_.end()) {
      if (!rule_.excuse().unrecorded()) excused.push_back({event, *by});
    } else if (now - event.at > within) {
      Feed(event);
    } else {
      still.push_back(event);
    }
  }
  waiting_ = std::move(still);
  while (!excuses_.empty() && now - excuses_.front().at > 2 * within) excuses_.pop_front();
  return excused;
}

bool RuleWatch::bad() const {
  return std::any_of(conditions_.begin(), conditions_.end(), [](const auto& watch) { return watch->bad(); });
}

bool RuleWatch::LastsOn() const {
  return std::any_of(conditions_.begin(), conditions_.end(),
                     [](const auto& watch) { return watch->bad() && !watch->event(); });
}

absl::Time RuleWatch::Begin(absl::Time first_bad, absl::Time good_before) const {
  const absl::Time back = first_bad - absl::Seconds(rule_.reach_back_s());
  return rule_.past_good() ? back : std::max(back, std::min(good_before, first_bad));
}

absl::Time RuleWatch::WindowBegin() const {
  absl::Time begin = absl::InfiniteFuture();
  for (const auto& watch : conditions_) {
    if (watch->bad()) begin = std::min(begin, Begin(watch->first_bad(), watch->good_before()));
  }
  return begin;
}

absl::Time RuleWatch::LastBad() const {
  absl::Time last = absl::InfinitePast();
  for (const auto& watch : conditions_) last = std::max(last, watch->last_bad());
  return last;
}

absl::optional<absl::Time> RuleWatch::HeldGoodSince(absl::Time now, absl::Time last_bad) const {
  const absl::Duration hold = absl::Seconds(rule_.clear_after_s());
  const bool restored = LastBad() == absl::InfinitePast();
  absl::Time end = absl::InfinitePast();
  bool level = false;
  bool heard = false;
  for (const auto& watch : conditions_) {
    if (!watch->Held(hold, now)) return absl::nullopt;
    if (watch->event()) {
      end = std::max(end, std::max(watch->last_bad(), last_bad) + hold);
      continue;
    }
    level = true;
    heard |= watch->newest() > last_bad;
    if (restored || watch->last_bad() != absl::InfinitePast()) end = std::max(end, watch->good_since());
  }
  if ((level && !heard) || end > now) return absl::nullopt;
  return end;
}

absl::optional<absl::Time> RuleWatch::DoubtSince() const {
  absl::optional<absl::Time> doubt;
  const auto add = [&](absl::Time at) { doubt = doubt ? std::min(*doubt, at) : at; };
  for (const auto& watch : conditions_) {
    const auto since = watch->DoubtSince();
    if (since) add(Begin(*since, absl::InfinitePast()));
  }
  for (const Sample& event : waiting_) add(Begin(event.at, absl::InfinitePast()));
  return doubt;
}

std::vector<Sample> RuleWatch::Evidence() const {
  std::vector<Sample> evidence;
  for (const auto& watch : conditions_) {
    if (!watch->bad()) continue;
    for (Sample& sample : watch->Evidence(newest_.gpu)) evidence.push_back(std::move(sample));
  }
  std::stable_sort(evidence.begin(), evidence.end(), [](const Sample& a, const Sample& b) { return a.at < b.at; });
  return evidence;
}

}  // namespace sassay::monitor
