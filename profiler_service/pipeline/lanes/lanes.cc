#include "profiler_service/pipeline/lanes/lanes.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/steady_time.h"
#include "spdlog/spdlog.h"

namespace sassay::pipeline {
namespace {

// How soon a cancellation is noticed while waiting.
constexpr absl::Duration kGlance = absl::Milliseconds(50);

std::string Seconds(absl::Duration duration) { return absl::StrFormat("%.1f s", absl::ToDoubleSeconds(duration)); }

void TellUsage(Lane& lane) {
  const DeviceLease::Usage usage = lane.lease().usage();
  spdlog::info("{}: {} times alone, for {}; shared for {}, and for {} while somebody waited to have it alone",
               lane.label(), usage.times_exclusive, Seconds(usage.exclusive), Seconds(usage.shared),
               Seconds(usage.awaited));
}

}  // namespace

Lanes::Lanes(std::vector<std::unique_ptr<Lane>> lanes, absl::Duration probe_every, absl::Duration closed_patience)
    : probe_every_(probe_every), closed_patience_(closed_patience) {
  for (std::unique_ptr<Lane>& lane : lanes) places_.emplace_back().lane = std::move(lane);
  watcher_ = std::thread([this] { Watch(); });
}

Lanes::~Lanes() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  stop_.Pull();
  watcher_.join();
  for (const Place& place : places_) TellUsage(*place.lane);
}

uint32_t Lanes::seats() const {
  uint32_t seats = 0;
  for (const Place& place : places_) seats += place.lane->seats();
  return seats;
}

bool Lanes::Free(size_t index) const {
  return places_[index].takes() && places_[index].jobs < static_cast<int>(places_[index].lane->seats());
}

size_t Lanes::Best(const std::vector<size_t>& fitting, const std::vector<std::string>& earlier) const {
  const auto failed_before = [&](size_t index) {
    return std::find(earlier.begin(), earlier.end(), places_[index].lane->label()) != earlier.end();
  };
  const bool another = std::any_of(fitting.begin(), fitting.end(),
                                   [&](size_t index) { return places_[index].takes() && !failed_before(index); });
  size_t best = places_.size();
  for (const size_t index : fitting) {
    if (!Free(index) || (another && failed_before(index))) continue;
    if (best == places_.size() || places_[index].jobs < places_[best].jobs) best = index;
  }
  return best;
}

bool Lanes::Closed(const std::vector<size_t>& fitting) const {
  const auto takes = [&](size_t index) { return places_[index].takes(); };
  const auto closed = [&](size_t index) { return places_[index].sick.ok() && places_[index].closed.has_value(); };
  return std::none_of(fitting.begin(), fitting.end(), takes) && std::any_of(fitting.begin(), fitting.end(), closed);
}

absl::Status Lanes::WhyNone(const std::vector<size_t>& fitting) const {
  std::vector<std::string> reasons;
  for (const size_t index : fitting) {
    const Place& place = places_[index];
    if (place.takes()) return absl::DeadlineExceededError("no device became free before the run's deadline");
    reasons.push_back(place.sick.ok() ? absl::StrCat(place.lane->label(), " is closed: ", *place.closed)
                                      : absl::StrCat(place.lane->label(), ": ", place.sick.message()));
  }
  return absl::UnavailableError(absl::StrCat("no device that takes this bundle works: ", absl::StrJoin(reasons, "; ")));
}

absl::StatusOr<Lanes::Seat> Lanes::Take(const std::vector<size_t>& fitting, const std::vector<std::string>& earlier,
                                        absl::Time deadline, const std::function<bool()>& cancelled) {
  absl::MutexLock lock(&mutex_);
  absl::Time open_at = SteadyNow();
  for (;;) {
    if (const size_t best = Best(fitting, earlier); best < places_.size()) {
      ++places_[best].jobs;
      return Seat(this, best, places_[best].abandoned);
    }
    if (cancelled()) return absl::CancelledError("cancelled while waiting for a device");
    const absl::Time now = SteadyNow();
    if (now >= deadline) return WhyNone(fitting);
    if (!Closed(fitting)) open_at = now;
    if (now - open_at > closed_patience_) return absl::AbortedError(WhyNone(fitting).message());
    changed_.WaitWithTimeout(&mutex_, kGlance);
  }
}

void Lanes::Leave(size_t index) {
  bool takes;
  {
    absl::MutexLock lock(&mutex_);
    --places_[index].jobs;
    takes = places_[index].takes();
    changed_.SignalAll();
  }
  if (!takes) TellSeats();
}

void Lanes::Close(size_t index, absl::string_view why) {
  {
    absl::MutexLock lock(&mutex_);
    Place& place = places_[index];
    if (!place.closed.has_value()) spdlog::info("{} is closed: {}", place.lane->label(), std::string(why));
    place.closed = std::string(why);
  }
  TellSeats();
}

void Lanes::Open(size_t index) {
  {
    absl::MutexLock lock(&mutex_);
    Place& place = places_[index];
    if (place.closed.has_value()) spdlog::info("{} is open again", place.lane->label());
    place.closed.reset();
    changed_.SignalAll();
  }
  TellSeats();
}

void Lanes::Abandon(size_t index, absl::string_view why) {
  absl::MutexLock lock(&mutex_);
  ++places_[index].abandoned;
  places_[index].why_abandoned = std::string(why);
}

absl::Status Lanes::WhyLost(size_t index, uint64_t abandoned) const {
  absl::MutexLock lock(&mutex_);
  const Place& place = places_[index];
  if (place.abandoned == abandoned) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the workers of ", place.lane->label(), " were restarted: ", place.why_abandoned));
}

uint32_t Lanes::open_seats() const {
  absl::MutexLock lock(&mutex_);
  uint32_t seats = 0;
  for (const Place& place : places_) seats += place.takes() ? place.lane->seats() : static_cast<uint32_t>(place.jobs);
  return seats;
}

void Lanes::OnSeatsChange(std::function<void(uint32_t)> listener) {
  absl::MutexLock lock(&listener_mutex_);
  listener_ = std::move(listener);
}

void Lanes::TellSeats() {
  absl::MutexLock lock(&listener_mutex_);
  if (listener_) listener_(open_seats());
}

bool Lanes::has_room(size_t index) const {
  absl::MutexLock lock(&mutex_);
  return Free(index);
}

int Lanes::jobs(size_t index) const {
  absl::MutexLock lock(&mutex_);
  return places_[index].jobs;
}

void Lanes::Sick(size_t index, const absl::Status& why) {
  {
    absl::MutexLock lock(&mutex_);
    Place& place = places_[index];
    if (place.sick.ok()) spdlog::error("{} takes nothing for now: {}", place.lane->label(), why.ToString());
    place.sick = why;
    place.probe_at = SteadyNow() + probe_every_;
    changed_.SignalAll();
  }
  TellSeats();
}

size_t Lanes::NextDue() {
  absl::MutexLock lock(&mutex_);
  while (!stopping_) {
    absl::Time next = absl::InfiniteFuture();
    for (size_t index = 0; index < places_.size(); ++index) {
      if (places_[index].sick.ok()) continue;
      if (places_[index].probe_at <= SteadyNow()) return index;
      next = std::min(next, places_[index].probe_at);
    }
    changed_.WaitWithTimeout(&mutex_, next - SteadyNow());
  }
  return places_.size();
}

// Not beside a candidate that is timed.
absl::Status Lanes::Probe(Lane& lane) {
  const auto lease =
      lane.lease().Acquire(DeviceLease::Mode::kShared, 0, absl::InfiniteFuture(), [this] { return stop_.pulled(); });
  if (!lease.ok()) return lease.status();
  return lane.Probe(SteadyNow() + Lane::kProbeTimeout, &stop_);
}

void Lanes::Watch() {
  for (size_t index = NextDue(); index < places_.size(); index = NextDue()) {
    const absl::Status alive = Probe(*places_[index].lane);
    {
      absl::MutexLock lock(&mutex_);
      Place& place = places_[index];
      if (alive.ok()) spdlog::info("{} works again", place.lane->label());
      place.sick = alive;
      place.probe_at = SteadyNow() + probe_every_;
      changed_.SignalAll();
    }
    TellSeats();
  }
}

}  // namespace sassay::pipeline
