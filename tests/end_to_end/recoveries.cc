#include "tests/end_to_end/recoveries.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/proto_time.h"

namespace sassay::testing {
namespace {

using sassay::v1::Event;

std::string NameOf(const Event& event) {
  const auto* descriptor = Event::descriptor()->FindFieldByNumber(event.what_case());
  std::string name = descriptor == nullptr ? "?" : descriptor->name();
  if (event.has_stage_started()) absl::StrAppend(&name, " ", sassay::v1::Stage_Name(event.stage_started().stage()));
  if (event.has_retrying()) absl::StrAppend(&name, " (", event.retrying().reason(), ")");
  return name;
}

std::string At(absl::Time time) { return absl::FormatTime("%H:%M:%E3S", time, absl::UTCTimeZone()); }

}  // namespace

void Recoveries::Begun(size_t turn) {
  absl::MutexLock lock(&mutex_);
  turns_[turn].seen = absl::StrCat("begun ", At(absl::Now()));
}

void Recoveries::EndWait(size_t number, Turn& turn) {
  if (!turn.waits) return;
  turn.waits = false;
  --waiting_;
  const absl::Duration wait = absl::Now() - recovered_at_;
  waits_.push_back(wait);
  longest_[number] = std::max(longest_[number], wait);
}

void Recoveries::Saw(size_t number, const Event& event) {
  const absl::Time written = TimeOf(event.at());
  absl::MutexLock lock(&mutex_);
  Turn& turn = turns_[number];
  absl::StrAppend(&turn.seen, "\n  ", At(absl::Now()), " ", NameOf(event), ", written ", At(written));
  const bool by_a_node = event.has_stage_started() || event.has_stage_finished();
  if (event.has_verdict() || (by_a_node && written >= recovered_at_)) EndWait(number, turn);
}

void Recoveries::Over(size_t number) {
  absl::MutexLock lock(&mutex_);
  Turn& turn = turns_[number];
  EndWait(number, turn);
  turn.over = true;
  absl::StrAppend(&turn.seen, "\n  ", At(absl::Now()), " over");
  if (turn.under_way_at != absl::InfinitePast()) until_over_.push_back(absl::Now() - turn.under_way_at);
}

void Recoveries::Note(absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  recovered_at_ = absl::Now();
  ++recoveries_;
  for (auto& [number, turn] : turns_) {
    if (turn.over) continue;
    turn.waits = true;
    ++waiting_;
    if (turn.under_way_at == absl::InfinitePast()) turn.under_way_at = recovered_at_;
    absl::StrAppend(&turn.seen, "\n  ", At(recovered_at_), " recovery");
  }
  mutex_.AwaitWithTimeout(absl::Condition(this, &Recoveries::NobodyWaits), patience);
  for (auto& [number, turn] : turns_) EndWait(number, turn);
}

std::vector<absl::Duration> Recoveries::Waits() const {
  absl::MutexLock lock(&mutex_);
  std::vector<absl::Duration> waits = waits_;
  std::sort(waits.begin(), waits.end());
  return waits;
}

std::vector<absl::Duration> Recoveries::UntilOver() const {
  absl::MutexLock lock(&mutex_);
  std::vector<absl::Duration> until_over = until_over_;
  std::sort(until_over.begin(), until_over.end());
  return until_over;
}

std::string Recoveries::LongerThan(absl::Duration bound) const {
  absl::MutexLock lock(&mutex_);
  std::string text;
  for (const auto& [number, wait] : longest_) {
    if (wait <= bound) continue;
    absl::StrAppend(&text, "turn ", number, " waited ", absl::FormatDuration(wait), ": ", turns_.at(number).seen, "\n");
  }
  return text;
}

int Recoveries::count() const {
  absl::MutexLock lock(&mutex_);
  return recoveries_;
}

}  // namespace sassay::testing
