#include "profiler_service/store/postgres/notifier.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "nlohmann/json.hpp"
#include "spdlog/spdlog.h"

namespace sassay::store::postgres {
namespace {

constexpr size_t kLongestPayload = 7900;

}  // namespace

std::string EncodeChanges(const Changes& changes) {
  nlohmann::json payload = {{"w", changes.work},
                            {"h", changes.holds},
                            {"x", changes.exclusions},
                            {"i", changes.incidents},
                            {"e", changes.everything}};
  if (!changes.everything) {
    payload["s"] = changes.submissions;
    payload["c"] = changes.cancelling;
  }
  std::string text = payload.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() <= kLongestPayload ? text : R"({"e":true})";
}

Changes DecodeChanges(absl::string_view payload) {
  Changes changes;
  const auto parsed = nlohmann::json::parse(payload.begin(), payload.end(), nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) {
    changes.everything = true;
    return changes;
  }
  const auto says = [&](const char* key) {
    const auto found = parsed.find(key);
    return found != parsed.end() && found->is_boolean() && found->get<bool>();
  };
  changes.everything = says("e");
  changes.work = says("w");
  changes.holds = says("h");
  changes.exclusions = says("x");
  changes.incidents = says("i");
  const auto ids = [&](const char* key, std::vector<std::string>& into) {
    const auto found = parsed.find(key);
    if (found == parsed.end() || !found->is_array()) return;
    for (const auto& id : *found) {
      if (id.is_string()) into.push_back(id.get<std::string>());
    }
  };
  ids("s", changes.submissions);
  ids("c", changes.cancelling);
  return changes;
}

class Notifier::Registration : public Watch {
 public:
  Registration(Notifier& notifier, uint64_t number) : notifier_(notifier), number_(number) {}
  ~Registration() override {
    absl::MutexLock lock(&notifier_.observers_mutex_);
    notifier_.observers_.erase(number_);
  }

 private:
  Notifier& notifier_;
  const uint64_t number_;
};

Notifier::Notifier(std::string uri, const Times& times)
    : uri_(std::move(uri)), times_(times), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), thread_([this] { Loop(); }) {}

Notifier::~Notifier() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  WakeUp();
  thread_.join();
}

bool Notifier::stopping() const {
  absl::MutexLock lock(&mutex_);
  return stopping_;
}

void Notifier::WakeUp() {
  const uint64_t one = 1;
  // Full means that it will wake up in any case.
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

std::unique_ptr<Watch> Notifier::Observe(Observer observer) {
  absl::MutexLock lock(&observers_mutex_);
  const uint64_t number = next_observer_++;
  observers_.emplace(number, std::move(observer));
  newcomer_ = true;
  WakeUp();
  return std::make_unique<Registration>(*this, number);
}

void Notifier::Announce(const Changes& changes) {
  bool first;
  {
    absl::MutexLock lock(&mutex_);
    first = pending_.empty();
    pending_.Add(changes);
  }
  if (first) WakeUp();
}

void Notifier::Loop() {
  look_at_ = SteadyNow() + times_.look_anyway;
  while (!stopping()) {
    TryToListen();
    SendWhatIsDue();
    HearWhatHasCome();
    LookAnyway();
    WaitForSomething(NextDue());
  }
  last_sent_ = absl::InfinitePast();
  SendWhatIsDue();
}

// What was announced to nobody while there was no session is unknown.
void Notifier::TryToListen() {
  if (connection_ != nullptr && !connection_->lost()) return;
  if (SteadyNow() < next_try_) return;
  if (connection_ != nullptr) spdlog::warn("the session that hears of other processes' changes is lost");
  connection_ = nullptr;
  next_try_ = SteadyNow() + times_.between_tries;
  auto connection = Connection::Open(uri_, "profiler-service notifier");
  if (!connection.ok() || !(*connection)->Execute("SET synchronous_commit = off; LISTEN sassay_changes").ok()) return;
  connection_ = *std::move(connection);
  if (!connection_->Prepare("notify", "SELECT pg_notify('sassay_changes', $1)").ok()) return;
  look_at_ = absl::InfinitePast();
}

absl::Time Notifier::NextDue() const {
  const bool listening = connection_ != nullptr && !connection_->lost();
  absl::Time due = std::min(look_at_, listening ? absl::InfiniteFuture() : next_try_);
  absl::MutexLock lock(&mutex_);
  if (listening && !pending_.empty()) due = std::min(due, last_sent_ + times_.gather);
  return due;
}

void Notifier::WaitForSomething(absl::Time until) {
  pollfd descriptors[] = {{wake_.get(), POLLIN, 0}, {-1, POLLIN, 0}};
  if (connection_ != nullptr && !connection_->lost()) descriptors[1].fd = connection_->socket();
  const absl::Duration left = std::max(absl::ZeroDuration(), absl::Ceil(until - SteadyNow(), absl::Milliseconds(1)));
  poll(descriptors, 2, static_cast<int>(absl::ToInt64Milliseconds(std::min(left, times_.look_anyway))));
  uint64_t count;
  [[maybe_unused]] const ssize_t drained = read(wake_.get(), &count, sizeof count);
}

void Notifier::SendWhatIsDue() {
  if (connection_ == nullptr || connection_->lost() || SteadyNow() < last_sent_ + times_.gather) return;
  Changes changes;
  {
    absl::MutexLock lock(&mutex_);
    std::swap(changes, pending_);
  }
  if (changes.empty()) return;
  last_sent_ = SteadyNow();
  if (connection_->Run("notify", {{EncodeChanges(changes), true}}).ok()) return;
  absl::MutexLock lock(&mutex_);
  pending_.Add(changes);
}

void Notifier::HearWhatHasCome() {
  if (connection_ == nullptr || connection_->lost()) return;
  const auto payloads = connection_->TakeNotifications();
  if (!payloads.ok() || payloads->empty()) return;
  Changes heard;
  for (const std::string& payload : *payloads) heard.Add(DecodeChanges(payload));
  Tell(heard);
}

void Notifier::LookAnyway() {
  const absl::Time now = SteadyNow();
  const bool newcomer = connection_ != nullptr && newcomer_.exchange(false);
  if (now < look_at_ && !newcomer) return;
  look_at_ = now + times_.look_anyway;
  Changes changes;
  changes.everything = true;
  Tell(changes);
}

void Notifier::Tell(const Changes& changes) {
  absl::MutexLock lock(&observers_mutex_);
  for (const auto& [number, observer] : observers_) observer(changes);
}

}  // namespace sassay::store::postgres
