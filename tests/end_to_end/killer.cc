#include "tests/end_to_end/killer.h"

#include <signal.h>

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "tests/end_to_end/process_tree.h"

namespace sassay::testing {
namespace {

// One start in this many is itself killed.
constexpr int kStartsPerKilledStart = 4;
constexpr absl::Duration kLongestStart = absl::Milliseconds(400);
constexpr absl::Duration kOrphansDieWithin = absl::Seconds(10);
constexpr int kPorts = 50;

// A port that nobody is given by chance while the service is down: below those that the kernel hands out.
int PortOutsideTheEphemeralRange(std::mt19937_64& random) {
  int lowest = 32768;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> lowest;
  return std::uniform_int_distribution<int>(std::min(10000, lowest - 1), lowest - 1)(random);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Killer>> Killer::Start(const std::string& state,
                                                      const std::vector<std::string>& arguments, const KillPlan& plan) {
  std::unique_ptr<Killer> killer(new Killer(state, arguments, plan));
  std::random_device device;
  std::mt19937_64 port_random(device());
  absl::Status status;
  for (int i = 0; i < kPorts && killer->service_ == nullptr; ++i) {
    const std::string listen = absl::StrCat("127.0.0.1:", PortOutsideTheEphemeralRange(port_random));
    auto service = Service::Start(state, arguments, listen);
    status = service.status();
    if (service.ok()) killer->service_ = *std::move(service);
  }
  RETURN_IF_ERROR(status);
  killer->address_ = killer->service_->address();
  killer->thread_ = std::thread([raw = killer.get()] { raw->Run(); });
  return killer;
}

Killer::~Killer() { Rest().IgnoreError(); }

bool Killer::WaitUntilUp() {
  const auto settled = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return up_ || failed_; };
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&settled));
  return up_;
}

void Killer::OnEvent() {
  absl::MutexLock lock(&mutex_);
  ++events_;
  if (!up_ || waiting_since_ == absl::InfiniteFuture()) return;
  report_.until_event.push_back(absl::Now() - waiting_since_);
  waiting_since_ = absl::InfiniteFuture();
}

absl::Status Killer::Rest() {
  {
    absl::MutexLock lock(&mutex_);
    resting_ = true;
  }
  if (thread_.joinable()) thread_.join();
  return status_;
}

void Killer::Run() {
  while (status_.ok() && left_.services + left_.runners + left_.judges > 0 && WaitForTheMoment()) {
    status_ = KillSomething();
  }
  absl::MutexLock lock(&mutex_);
  failed_ = !status_.ok();
}

bool Killer::WaitForTheMoment() {
  absl::MutexLock lock(&mutex_);
  const uint64_t enough = events_ + static_cast<uint64_t>(Random(1, left_.most_events_between));
  const auto seen = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return resting_ || events_ >= enough; };
  mutex_.AwaitWithTimeout(absl::Condition(&seen), absl::Seconds(1));
  mutex_.AwaitWithTimeout(absl::Condition(&resting_), RandomUpTo(left_.jitter));
  return !resting_;
}

absl::Status Killer::KillSomething() {
  int lot = Random(1, left_.services + left_.runners + left_.judges);
  if ((lot -= left_.services) <= 0) return KillService();
  if ((lot -= left_.runners) <= 0) {
    KillWorker("profiler-runner", left_.runners, report_.runners);
  } else {
    KillWorker("profiler-judge", left_.judges, report_.judges);
  }
  return absl::OkStatus();
}

void Killer::KillWorker(const char* name, int& left, int& killed) {
  const std::vector<pid_t> workers = LivingDescendants(service_->pid(), name);
  if (workers.empty()) return;
  if (kill(workers[static_cast<size_t>(Random(0, static_cast<int>(workers.size()) - 1))], SIGKILL) != 0) return;
  --left;
  ++killed;
}

absl::Status Killer::KillService() {
  --left_.services;
  ++report_.services;
  const absl::Time killed_at = absl::Now();
  {
    absl::MutexLock lock(&mutex_);
    up_ = false;
    waiting_since_ = killed_at;
  }
  service_->Crash();
  RETURN_IF_ERROR(Restart(killed_at));
  report_.until_ready.push_back(absl::Now() - killed_at);
  absl::MutexLock lock(&mutex_);
  up_ = true;
  return absl::OkStatus();
}

// As a service manager does: at once, whatever is left of the old one.
absl::Status Killer::Restart(absl::Time killed_at) {
  while (Random(1, kStartsPerKilledStart) == 1) {
    ASSIGN_OR_RETURN(service_, Service::Launch(state_, arguments_, address_));
    RETURN_IF_ERROR(CountOrphans(killed_at));
    absl::SleepFor(RandomUpTo(kLongestStart));
    service_->Crash();
    ++report_.starting_services;
    killed_at = absl::Now();
  }
  ASSIGN_OR_RETURN(service_, Service::Launch(state_, arguments_, address_));
  RETURN_IF_ERROR(CountOrphans(killed_at));
  return service_->WaitUntilReady();
}

absl::Status Killer::CountOrphans(absl::Time killed_at) {
  ASSIGN_OR_RETURN(const int orphans, WaitForOrphansToDie({service_->pid()}, {"mini-ptx-agent", "killed_anywhere"},
                                                          killed_at + kOrphansDieWithin));
  report_.orphans += orphans;
  report_.until_no_orphan.push_back(absl::Now() - killed_at);
  return absl::OkStatus();
}

}  // namespace sassay::testing
