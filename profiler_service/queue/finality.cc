#include "profiler_service/queue/finality.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"

namespace sassay::queue {
namespace {

using sassay::v1::Timing;
using store::Provisional;

}  // namespace

Finality::Finality(std::function<absl::Time()> now, Settle settle)
    : now_(std::move(now)), settle_(std::move(settle)), started_(now_()) {}

absl::Status Finality::Start(store::Store& store) {
  ASSIGN_OR_RETURN(const std::vector<Provisional> open, store.Provisionals());
  for (const Provisional& timing : open) Retry(timing);
  return absl::OkStatus();
}

void Finality::Report(const sassay::v1::ReportHealthRequest& report) {
  std::vector<Settled> settled;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = now_();
    for (const sassay::v1::GpuHealth& health : report.gpus()) words_[health.uuid()] = {now, health};
    settled = TakeOut([this](const Provisional& timing) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return Passed(timing) ? absl::optional<std::string>("") : absl::nullopt;
    });
  }
  SettleAll(settled);
}

bool Finality::Passed(const Provisional& timing) const {
  const auto word = words_.find(timing.gpu);
  return word != words_.end() && word->second.health.has_healthy_through() &&
         TimeOf(word->second.health.healthy_through()) >= timing.ended_at;
}

bool Finality::WatchedLocked(absl::string_view gpu) const {
  const auto word = words_.find(gpu);
  return word != words_.end() && now_() < word->second.heard + kSilence;
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

absl::Time Finality::heard() const {
  absl::MutexLock lock(&mutex_);
  absl::Time last = absl::InfinitePast();
  for (const auto& [gpu, word] : words_) last = std::max(last, word.heard);
  return last;
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
  {
    absl::MutexLock lock(&mutex_);
    if (!Passed(timing)) {
      open_[timing.id] = timing;
      return;
    }
  }
  settle_(timing, "");
}

void Finality::Retry(const Provisional& timing) {
  absl::MutexLock lock(&mutex_);
  open_[timing.id] = timing;
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
    const absl::Time now = now_();
    settled = TakeOut([this, now](const Provisional& timing)
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::optional<std::string> {
                            if (Passed(timing)) return "";
                            if (now >= SilentFrom(timing.gpu))
                              return "the reliability monitor fell silent before it had vouched for its GPU";
                            if (now < timing.ended_at + kPatience) return absl::nullopt;
                            return absl::StrCat("the reliability monitor could not vouch for its GPU within ",
                                                absl::FormatDuration(kPatience));
                          });
  }
  SettleAll(settled);
}

absl::Time Finality::NextDue() const {
  absl::MutexLock lock(&mutex_);
  absl::Time due = absl::InfiniteFuture();
  for (const auto& [id, timing] : open_) {
    due = std::min({due, SilentFrom(timing.gpu), timing.ended_at + kPatience});
  }
  return due;
}

std::vector<Finality::Settled> Finality::TakeOut(
    const std::function<absl::optional<std::string>(const Provisional&)>& warning_of) {
  std::vector<Settled> settled;
  for (auto timing = open_.begin(); timing != open_.end();) {
    absl::optional<std::string> warning = warning_of(timing->second);
    if (!warning.has_value()) {
      ++timing;
      continue;
    }
    settled.push_back({std::move(timing->second), *std::move(warning)});
    timing = open_.erase(timing);
  }
  return settled;
}

void Finality::SettleAll(const std::vector<Settled>& settled) const {
  for (const Settled& each : settled) settle_(each.timing, each.warning);
}

}  // namespace sassay::queue
