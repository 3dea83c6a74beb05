#include "profiler_service/queue/finality.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"

namespace sassay::queue {
namespace {

using sassay::v1::Timing;
using store::Provisional;

// A time of the wall clock that lies ahead of it was said before it was set back.
constexpr absl::Duration kAhead = absl::Milliseconds(500);

}  // namespace

Finality::Finality(Clocks clocks, Settle settle)
    : clocks_(std::move(clocks)), settle_(std::move(settle)), started_(clocks_.steady()) {}

absl::Status Finality::Start(store::Store& store, const std::function<bool(absl::string_view gpu)>& mine) {
  ASSIGN_OR_RETURN(const std::vector<Provisional> open, store.Provisionals());
  for (const Provisional& timing : open) {
    if (mine(timing.gpu)) Retry(timing);
  }
  return absl::OkStatus();
}

void Finality::Report(const sassay::v1::ReportHealthRequest& report) {
  std::vector<Settled> settled;
  {
    absl::MutexLock lock(&mutex_);
    for (const sassay::v1::GpuHealth& health : report.gpus()) {
      words_[health.uuid()] = Hear(health);
      NoteUnwell(health);
    }
    settled = TakeOut([this](const Open& open) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return Vouched(open); });
  }
  SettleAll(settled);
}

Finality::Word Finality::Hear(const sassay::v1::GpuHealth& health) const {
  Word word;
  word.heard = clocks_.steady();
  word.health = health;
  if (!health.has_healthy_through()) return word;
  const absl::Time wall = clocks_.wall();
  const absl::Duration age = wall - TimeOf(health.healthy_through());
  if (age >= -kAhead) word.through = word.heard - std::max(age, absl::ZeroDuration());
  if (health.has_watched_since()) word.since = word.heard - (wall - TimeOf(health.watched_since()));
  return word;
}

void Finality::NoteUnwell(const sassay::v1::GpuHealth& health) {
  const Word& word = words_.find(health.uuid())->second;
  const bool well = health.state() == sassay::v1::GPU_STATE_HEALTHY && word.heard - word.through < kSilence;
  if (!well) unwell_[health.uuid()] = word.heard;
}

absl::Duration Finality::unblamed(absl::string_view gpu) const {
  absl::MutexLock lock(&mutex_);
  const auto unwell = unwell_.find(gpu);
  return clocks_.steady() - (unwell == unwell_.end() ? started_ : unwell->second);
}

Finality::Open Finality::Take(const Provisional& timing, absl::Time ended) const {
  const absl::Duration took = clocks_.wall() - timing.seated_at;
  return {clocks_.steady() - std::max(took, absl::ZeroDuration()), ended, timing};
}

absl::optional<std::string> Finality::Vouched(const Open& open) const {
  const auto word = words_.find(open.timing.gpu);
  if (word == words_.end() || word->second.through < open.ended) return absl::nullopt;
  return open.seated < word->second.since ? kWatchedInPart : "";
}

bool Finality::WatchedLocked(absl::string_view gpu) const {
  const auto word = words_.find(gpu);
  return word != words_.end() && clocks_.steady() < word->second.heard + kSilence;
}

bool Finality::Watched(absl::string_view gpu) const {
  absl::MutexLock lock(&mutex_);
  return WatchedLocked(gpu);
}

absl::optional<sassay::v1::GpuHealth> Finality::Health(absl::string_view gpu) const {
  absl::MutexLock lock(&mutex_);
  if (!WatchedLocked(gpu)) return absl::nullopt;
  return words_.find(gpu)->second.health;
}

absl::Duration Finality::silent() const {
  absl::MutexLock lock(&mutex_);
  absl::Time last = absl::InfinitePast();
  for (const auto& [gpu, word] : words_) last = std::max(last, word.heard);
  return clocks_.steady() - last;
}

size_t Finality::open() const {
  absl::MutexLock lock(&mutex_);
  return open_.size();
}

void Finality::Mark(absl::string_view gpu, sassay::v1::Verdict& verdict) const {
  if (verdict.timing().status() != Timing::MEASURED) return;
  if (Watched(gpu)) {
    verdict.mutable_timing()->set_status(Timing::PROVISIONAL);
  } else {
    verdict.mutable_timing()->add_warnings(kNobodyWatched);
  }
}

void Finality::Add(const Provisional& timing) {
  absl::optional<std::string> warning;
  {
    absl::MutexLock lock(&mutex_);
    // It ended a moment ago; a clock that was set in that moment makes it end now.
    const absl::Duration age = clocks_.wall() - timing.ended_at;
    const bool believable = age >= absl::ZeroDuration() && age < kSilence;
    const Open open = Take(timing, clocks_.steady() - (believable ? age : absl::ZeroDuration()));
    warning = Vouched(open);
    if (!warning.has_value()) open_[timing.id] = open;
  }
  if (warning.has_value()) settle_(timing, *warning);
}

void Finality::Retry(const Provisional& timing) {
  absl::MutexLock lock(&mutex_);
  open_[timing.id] = Take(timing, clocks_.steady());
}

void Finality::Drop(absl::string_view id) {
  absl::MutexLock lock(&mutex_);
  const auto found = open_.find(id);
  if (found != open_.end()) open_.erase(found);
}

absl::Time Finality::SilentFrom(absl::string_view gpu) const {
  const auto word = words_.find(gpu);
  return (word == words_.end() ? started_ : word->second.heard) + kSilence;
}

void Finality::Tick() {
  std::vector<Settled> settled;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = clocks_.steady();
    settled =
        TakeOut([this, now](const Open& open) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::optional<std::string> {
          if (const auto vouched = Vouched(open)) return vouched;
          if (now >= SilentFrom(open.timing.gpu))
            return "the reliability monitor fell silent before it had vouched for its GPU";
          if (now < open.ended + kPatience) return absl::nullopt;
          return absl::StrCat("the reliability monitor could not vouch for its GPU within ",
                              absl::FormatDuration(kPatience));
        });
  }
  SettleAll(settled);
}

absl::Time Finality::NextDue() const {
  absl::MutexLock lock(&mutex_);
  absl::Time due = absl::InfiniteFuture();
  for (const auto& [id, open] : open_) due = std::min({due, SilentFrom(open.timing.gpu), open.ended + kPatience});
  return clocks_.wall() + (due - clocks_.steady());
}

std::vector<Finality::Settled> Finality::TakeOut(
    const std::function<absl::optional<std::string>(const Open&)>& warning_of) {
  std::vector<Settled> settled;
  for (auto open = open_.begin(); open != open_.end();) {
    absl::optional<std::string> warning = warning_of(open->second);
    if (!warning.has_value()) {
      ++open;
      continue;
    }
    settled.push_back({std::move(open->second.timing), *std::move(warning)});
    open = open_.erase(open);
  }
  return settled;
}

void Finality::SettleAll(const std::vector<Settled>& settled) const {
  for (const Settled& each : settled) settle_(each.timing, each.warning);
}

}  // namespace sassay::queue
