#include "profiler_service/wire/live_runners.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <fstream>

#include "absl/memory/memory.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/steady_time.h"

namespace sassay::wire {
namespace {

// What the driver may take to end a process that was killed.
constexpr absl::Duration kEndsWithin = absl::Seconds(5);

// The kernel's word, so that a runner cannot name another process. 0 if it has ended or is none of this namespace.
pid_t PidOf(const UniqueFd& pidfd) {
  std::ifstream info(absl::StrCat("/proc/self/fdinfo/", pidfd.get()));
  for (std::string line; std::getline(info, line);) {
    absl::string_view rest = line;
    int pid = 0;
    if (absl::ConsumePrefix(&rest, "Pid:") && absl::SimpleAtoi(rest, &pid)) return std::max(pid, 0);
  }
  return 0;
}

bool HasEnded(const UniqueFd& pidfd) {
  pollfd entry{pidfd.get(), POLLIN, 0};
  return poll(&entry, 1, 0) != 0;
}

}  // namespace

LiveRunners::Entry::Entry(std::shared_ptr<LiveRunners> runners, std::string device, WorkerProcess& process)
    : runners_(std::move(runners)), device_(std::move(device)), process_(process) {}

LiveRunners::Entry::~Entry() {
  const pid_t number = pid();
  bool told;
  {
    absl::MutexLock lock(&runners_->mutex_);
    runners_->entries_.erase(this);
    runners_->ForgetEnded();
    told = told_;
    if (ended_.valid() && pid_ > 0 && !HasEnded(ended_)) {
      runners_->endings_.push_back({device_, pid_, std::move(ended_), SteadyNow()});
    }
  }
  if (!told) runners_->Tell(device_, Happening::kEnded, number, "");
}

void LiveRunners::Entry::Ready(const UniqueFd& ended) {
  UniqueFd copy(ended.valid() ? fcntl(ended.get(), F_DUPFD_CLOEXEC, 0) : -1);
  {
    absl::MutexLock lock(&runners_->mutex_);
    if (copy.valid()) pid_ = PidOf(copy);
    ended_ = std::move(copy);
  }
  runners_->Tell(device_, Happening::kStarted, pid(), "");
}

void LiveRunners::Entry::Asked(absl::Time due) {
  absl::MutexLock lock(&runners_->mutex_);
  due_ = due;
}

void LiveRunners::Entry::Troubled() {
  absl::MutexLock lock(&runners_->mutex_);
  runners_->troubled_[device_] = pid_ > 0 ? pid_ : process_.pid();
}

void LiveRunners::Entry::Lost(Happening happening, absl::string_view reason) {
  {
    absl::MutexLock lock(&runners_->mutex_);
    if (std::exchange(told_, true)) return;
    if (taken_) happening = Happening::kEnded;
  }
  runners_->Tell(device_, happening, pid(), reason);
}

pid_t LiveRunners::Entry::pid() const {
  absl::MutexLock lock(&runners_->mutex_);
  return pid_ > 0 ? pid_ : process_.pid();
}

std::unique_ptr<LiveRunners::Entry> LiveRunners::Add(absl::string_view device, WorkerProcess& process) {
  auto entry = absl::WrapUnique(new Entry(shared_from_this(), std::string(device), process));
  absl::MutexLock lock(&mutex_);
  entries_.insert(entry.get());
  return entry;
}

uint32_t LiveRunners::End(absl::string_view device, absl::string_view why) {
  absl::MutexLock lock(&mutex_);
  uint32_t ended = 0;
  for (Entry* entry : entries_) {
    if (entry->device_ != device || !entry->process_.Alive()) continue;
    entry->taken_ = true;
    entry->process_.TakeAway(why);
    ++ended;
  }
  return ended;
}

void LiveRunners::ForgetEnded() {
  endings_.remove_if([](const Ending& ending) { return HasEnded(ending.ended); });
}

RunnersSeen LiveRunners::Look(absl::string_view device) {
  absl::MutexLock lock(&mutex_);
  ForgetEnded();
  RunnersSeen seen;
  const absl::Time now = SteadyNow();
  for (const Entry* entry : entries_) {
    if (entry->device_ != device) continue;
    if (entry->process_.Alive()) seen.pids.push_back(entry->process_.pid());
    const bool confined = entry->pid_ > 0 && entry->pid_ != entry->process_.pid();
    if (confined && !HasEnded(entry->ended_)) seen.pids.push_back(entry->pid_);
    seen.overdue = std::max(seen.overdue, now - entry->due_);
  }
  for (const Ending& ending : endings_) {
    if (ending.device != device) continue;
    seen.pids.push_back(ending.pid);
    seen.overdue = std::max(seen.overdue, now - ending.since - kEndsWithin);
  }
  return seen;
}

pid_t LiveRunners::last_troubled(absl::string_view device) const {
  absl::MutexLock lock(&mutex_);
  const auto found = troubled_.find(std::string(device));
  return found == troubled_.end() ? 0 : found->second;
}

}  // namespace sassay::wire
