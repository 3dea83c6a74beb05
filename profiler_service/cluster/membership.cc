#include "profiler_service/cluster/membership.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "spdlog/spdlog.h"

namespace sassay::cluster {
namespace {

using Stub = FrontEnds::Stub;

// One try to register, after which it is asked whether to give up.
constexpr absl::Duration kTry = absl::Seconds(1);
constexpr absl::Duration kBetweenNames = absl::Milliseconds(250);
constexpr absl::Duration kLeaveWithin = absl::Seconds(5);
constexpr absl::Duration kShortestBeat = absl::Milliseconds(100), kLongestBeat = absl::Seconds(5);

// A node may wait for days, and messages tell times that differ: another kind of trouble is said at once, the same one
// once a minute.
class SaidSparingly {
 public:
  void Say(const absl::Status& status) {
    const absl::Time now = SteadyNow();
    if (status.code() == last_ && now - said_at_ < kAgain) return;
    last_ = status.code();
    said_at_ = now;
    spdlog::warn("not a node of the cluster yet, trying on: {}", std::string(status.message()));
  }

 private:
  static constexpr absl::Duration kAgain = absl::Minutes(1);
  absl::StatusCode last_ = absl::StatusCode::kOk;
  absl::Time said_at_ = absl::InfinitePast();
};

absl::Status InOperatorsWords(const absl::Status& status) {
  if (!absl::IsUnimplemented(status)) return status;
  return absl::UnimplementedError(
      "the service at --join admits no nodes: start it with --role frontend, or with --nodes beside its own GPUs");
}

}  // namespace

absl::StatusOr<std::unique_ptr<Membership>> Membership::Join(FrontEnds& front_ends, MembershipOptions options) {
  SaidSparingly log;
  absl::Time taken_since = absl::InfiniteFuture();
  for (;;) {
    const absl::StatusOr<sassay::v1::RegisterResponse> welcome = front_ends.Register(SteadyNow() + kTry);
    if (welcome.ok()) {
      const absl::Duration interval =
          std::clamp(absl::Nanoseconds(welcome->beat_interval_ns()), kShortestBeat, kLongestBeat);
      spdlog::info("node {} joined a front end of version {}", front_ends.node().name(), welcome->sassay_version());
      return std::unique_ptr<Membership>(new Membership(front_ends, std::move(options), interval));
    }
    if (options.give_up()) return absl::CancelledError("told to end before a front end had taken this node in");
    const bool taken = absl::IsAlreadyExists(welcome.status());
    taken_since = taken ? std::min(taken_since, SteadyNow()) : absl::InfiniteFuture();
    const bool may_change = taken ? SteadyNow() - taken_since < kNamePatience : absl::IsUnavailable(welcome.status());
    if (!may_change) return InOperatorsWords(welcome.status());
    log.Say(welcome.status());
    if (taken) front_ends.Sleep(kBetweenNames);
  }
}

Membership::Membership(FrontEnds& front_ends, MembershipOptions options, absl::Duration interval)
    : front_ends_(front_ends), options_(std::move(options)), interval_(interval), thread_([this] { Run(); }) {}

Membership::~Membership() { Leave(); }

void Membership::Drain() {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  say_now_ = true;
}

void Membership::Leave() {
  {
    absl::MutexLock lock(&mutex_);
    if (leaving_) return;
    leaving_ = true;
  }
  thread_.join();
  sassay::v1::LeaveResponse response;
  const absl::Status left =
      front_ends_.Call(&Stub::Leave, sassay::v1::LeaveRequest(), response, SteadyNow() + kLeaveWithin);
  if (!left.ok()) spdlog::warn("left without a word: {}", left.ToString());
}

bool Membership::heard() const {
  absl::MutexLock lock(&mutex_);
  return heard_;
}

void Membership::Run() {
  for (;;) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(this, &Membership::SomethingToSay), interval_);
      if (leaving_) return;
      say_now_ = false;
    }
    Note(Beat());
  }
}

absl::Status Membership::Beat() {
  sassay::v1::BeatRequest request;
  {
    absl::MutexLock lock(&mutex_);
    request.set_draining(draining_);
  }
  for (sassay::v1::GpuPulse& pulse : options_.pulses()) *request.add_gpus() = std::move(pulse);
  *request.mutable_held() = options_.held();
  sassay::v1::BeatResponse response;
  return front_ends_.Call(&Stub::Beat, std::move(request), response, SteadyNow() + interval_);
}

void Membership::Note(const absl::Status& beat) {
  {
    absl::MutexLock lock(&mutex_);
    if (heard_ == beat.ok()) return;
    heard_ = beat.ok();
  }
  if (beat.ok()) return spdlog::info("a front end hears this node again");
  spdlog::warn("no front end hears this node: what it runs is given to others when its leases end: {}",
               beat.ToString());
}

}  // namespace sassay::cluster
