#include "monitor/sources/sampler.h"

#include <pthread.h>

#include <algorithm>
#include <deque>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/base/steady_time.h"

namespace sassay::monitor {
namespace {

constexpr size_t kLongestThreadName = 15;
constexpr absl::Duration kSayAgain = absl::Milliseconds(500);

// Sources with one period are read at the same moments, and those with a multiple of it at some of them.
absl::Time NextReading(absl::Time begin, absl::Duration period) {
  return period > absl::ZeroDuration() ? absl::UnixEpoch() + absl::Floor(begin - absl::UnixEpoch(), period) + period
                                       : begin;
}

Sample Silence(const std::string& source, absl::Time at, absl::Duration silent) {
  return {at, "", "source.silent_seconds", absl::ToDoubleSeconds(silent), source};
}

}  // namespace

// One source. Its thread alone uses `source`; the rest is guarded by Shared::mutex.
struct Sampler::Slot {
  std::unique_ptr<Source> source;
  std::string name;
  absl::Duration period;
  absl::Duration deadline;
  absl::Time started;
  absl::Time last_good;  // begin of the last good reading; `started` before there was one
  absl::Time reading_since;
  bool seen = false;
  bool absent = false;  // nothing but UNAVAILABLE so far
  bool reading = false;
  bool ended = false;
  absl::Time said_silent = absl::InfinitePast();
  uint64_t readings = 0;
  uint64_t failures = 0;
  std::string last_error;

  absl::Duration Silent(absl::Time now) const {
    const bool hangs = reading && now - reading_since > deadline;
    if (absent && !hangs) return absl::ZeroDuration();
    const absl::Duration silent = now - last_good;
    return silent > period + deadline ? silent : absl::ZeroDuration();
  }
};

// What the threads share with the sampler; outlives it where a thread hangs.
struct Sampler::Shared {
  explicit Shared(size_t most) : capacity(most) {}

  void Push(Sample sample) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (queue.size() == capacity) {
      queue.pop_front();
      ++dropped;
    }
    queue.push_back(std::move(sample));
  }

  void Finish(Slot& slot, absl::Time begin, absl::StatusOr<std::vector<Sample>> read) ABSL_LOCKS_EXCLUDED(mutex) {
    absl::MutexLock lock(&mutex);
    slot.reading = false;
    if (!read.ok()) {
      slot.absent = !slot.seen && absl::IsUnavailable(read.status());
      slot.last_error = std::string(read.status().message());
      ++slot.failures;
      return;
    }
    slot.seen = true;
    slot.absent = false;
    slot.last_error.clear();
    ++slot.readings;
    slot.last_good = begin;
    news = news || !read->empty();
    for (Sample& sample : *read) Push(std::move(sample));
    Push(Silence(slot.name, begin, absl::ZeroDuration()));
  }

  // When the next word about a silent source is due.
  absl::Time SaySilences(const std::vector<std::shared_ptr<Slot>>& slots, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    for (const std::shared_ptr<Slot>& slot : slots) {
      const absl::Duration silent = slot->Silent(now);
      if (silent == absl::ZeroDuration() || now - slot->said_silent < kSayAgain) continue;
      slot->said_silent = now;
      news = true;
      Push(Silence(slot->name, now, silent));
    }
    return now + kSayAgain;
  }

  const size_t capacity;
  absl::Mutex mutex;
  std::deque<Sample> queue ABSL_GUARDED_BY(mutex);
  uint64_t dropped ABSL_GUARDED_BY(mutex) = 0;
  bool woken ABSL_GUARDED_BY(mutex) = false;
  bool news ABSL_GUARDED_BY(mutex) = false;  // the queue holds more than that sources are well
  bool stopping ABSL_GUARDED_BY(mutex) = false;
};

Sampler::Sampler(std::vector<std::unique_ptr<Source>> sources, size_t capacity)
    : shared_(std::make_shared<Shared>(capacity)) {
  for (std::unique_ptr<Source>& source : sources) {
    auto slot = std::make_shared<Slot>();
    slot->name = source->name();
    slot->period = source->period();
    slot->deadline = source->deadline();
    slot->started = slot->last_good = SteadyNow();
    slot->source = std::move(source);
    slots_.push_back(slot);
    std::thread(Run, shared_, slot).detach();
  }
}

void Sampler::Run(std::shared_ptr<Shared> shared, std::shared_ptr<Slot> slot) {
  Shared& s = *shared;
  pthread_setname_np(pthread_self(), slot->name.substr(0, kLongestThreadName).c_str());
  const auto stopping = [&s]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return s.stopping; };
  while (true) {
    const absl::Time begin = SteadyNow();
    {
      absl::MutexLock lock(&s.mutex);
      if (s.stopping) break;
      slot->reading = true;
      slot->reading_since = begin;
    }
    s.Finish(*slot, begin, slot->source->Read());
    absl::MutexLock lock(&s.mutex);
    if (AwaitUntil(s.mutex, absl::Condition(&stopping), NextReading(begin, slot->period))) break;
  }
  slot->source.reset();
  absl::MutexLock lock(&s.mutex);
  slot->ended = true;
}

Sampler::~Sampler() {
  absl::MutexLock lock(&shared_->mutex);
  shared_->stopping = true;
  for (const std::shared_ptr<Slot>& slot : slots_) {
    const absl::Time begin = slot->reading ? slot->reading_since : SteadyNow();
    const auto ended = [&slot] { return slot->ended; };
    AwaitUntil(shared_->mutex, absl::Condition(&ended), begin + slot->deadline + kSayAgain);
  }
}

std::vector<Sample> Sampler::Take(absl::Duration patience, absl::Duration gather) {
  Shared& s = *shared_;
  const absl::Time deadline = SteadyNow() + patience;
  const auto woken = [&s]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return s.woken; };
  const auto something = [&s]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return s.woken || s.news; };
  absl::MutexLock lock(&s.mutex);
  while (true) {
    const absl::Time say_again = s.SaySilences(slots_, SteadyNow());
    const absl::Time until = std::min(deadline, say_again);
    if (AwaitUntil(s.mutex, absl::Condition(&something), until) || SteadyNow() >= deadline) break;
  }
  if (s.news) AwaitUntil(s.mutex, absl::Condition(&woken), SteadyNow() + gather);
  s.woken = s.news = false;
  std::vector<Sample> taken(std::make_move_iterator(s.queue.begin()), std::make_move_iterator(s.queue.end()));
  s.queue.clear();
  return taken;
}

void Sampler::Wake() {
  absl::MutexLock lock(&shared_->mutex);
  shared_->woken = true;
}

std::vector<SourceView> Sampler::View() const {
  const absl::Time now = SteadyNow();
  absl::MutexLock lock(&shared_->mutex);
  std::vector<SourceView> views;
  for (const std::shared_ptr<Slot>& slot : slots_) {
    views.push_back(
        {slot->name, slot->seen, slot->reading, slot->Silent(now), slot->readings, slot->failures, slot->last_error});
  }
  return views;
}

uint64_t Sampler::dropped() const {
  absl::MutexLock lock(&shared_->mutex);
  return shared_->dropped;
}

}  // namespace sassay::monitor
