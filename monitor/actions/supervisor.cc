#include "monitor/actions/supervisor.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "spdlog/spdlog.h"

namespace sassay::monitor {
namespace {

constexpr absl::Duration kCommandTimeout = absl::Minutes(1);
constexpr absl::Duration kPoll = absl::Seconds(1);

Command WithOurs(std::vector<std::string> argv) {
  Command command;
  command.argv = std::move(argv);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) command.environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return command;
}

}  // namespace

Supervisor::Supervisor(SupervisorOptions options) : options_(std::move(options)), wait_(options_.first_wait) {}

absl::StatusOr<std::unique_ptr<Supervisor>> Supervisor::Start(SupervisorOptions options) {
  std::unique_ptr<Supervisor> supervisor(new Supervisor(std::move(options)));
  RETURN_IF_ERROR(supervisor->StartService());
  supervisor->watcher_ = std::thread([raw = supervisor.get()] { raw->Watch(); });
  return supervisor;
}

absl::Status Supervisor::StartService() {
  Command command = WithOurs(options_.command);
  command.inherit_fds = {{STDOUT_FILENO, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}};
  command.signal_at_our_death = SIGTERM;
  ASSIGN_OR_RETURN(Subprocess started, Subprocess::Start(command));
  absl::MutexLock lock(&mutex_);
  service_ = std::make_unique<Subprocess>(std::move(started));
  pid_ = service_->pid();
  ++started_;
  started_at_ = SteadyNow();
  spdlog::info("started {} as process {}", options_.command.front(), pid_);
  return absl::OkStatus();
}

void Supervisor::Watch() {
  while (true) {
    if (service_ != nullptr) {
      const absl::StatusOr<ExitReport> ended = service_->Wait(absl::Now() + kPoll);
      if (!ended.ok()) {
        absl::MutexLock lock(&mutex_);
        if (given_up_) return;
        continue;
      }
      Note(DescribeExit(*ended));
    }
    if (!WaitBeforeStart()) return;
    const absl::Status started = StartService();
    if (!started.ok()) spdlog::error("{}", std::string(started.message()));
  }
}

void Supervisor::Note(const std::string& how) {
  {
    absl::MutexLock lock(&mutex_);
    pid_ = 0;
    if (SteadyNow() - started_at_ > options_.steady) wait_ = options_.first_wait;
    if (stopping_) return;
  }
  spdlog::warn("{} {}", options_.command.front(), how);
  options_.on_exit(how);
}

// False: there is to be no other.
bool Supervisor::WaitBeforeStart() {
  absl::MutexLock lock(&mutex_);
  service_.reset();
  const auto enough = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return stopping_ || restart_now_; };
  AwaitUntil(mutex_, absl::Condition(&enough), SteadyNow() + wait_);
  if (!restart_now_) wait_ = std::min(wait_ * 2, options_.longest_wait);
  restart_now_ = false;
  return !stopping_;
}

absl::Status Supervisor::Restart(const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  if (pid_ == 0) return absl::OkStatus();  // it died by itself, and is being started
  const pid_t killed = pid_;
  spdlog::warn("killing the service, process {}: {}", killed, reason);
  restart_now_ = true;
  service_->Kill();
  const auto gone = [this, killed]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return pid_ != killed; };
  if (AwaitUntil(mutex_, absl::Condition(&gone), SteadyNow() + options_.kill_patience)) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("process ", killed, " was killed and is still there after ",
                                             absl::FormatDuration(options_.kill_patience), ": it hangs in the kernel"));
}

pid_t Supervisor::pid() const {
  absl::MutexLock lock(&mutex_);
  return pid_;
}

Supervisor::~Supervisor() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
    if (pid_ != 0) kill(pid_, SIGTERM);
    const auto gone = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return pid_ == 0; };
    AwaitUntil(mutex_, absl::Condition(&gone), SteadyNow() + options_.drain);
    if (pid_ != 0 && service_ != nullptr) service_->Kill();
    AwaitUntil(mutex_, absl::Condition(&gone), SteadyNow() + options_.kill_patience);
    given_up_ = true;
  }
  if (watcher_.joinable()) watcher_.join();
}

absl::Status RunRestartCommand(const std::string& command) {
  ASSIGN_OR_RETURN(const ExitReport report, RunToCompletion(WithOurs({"/bin/sh", "-c", command}), kCommandTimeout));
  if (report.Succeeded()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("--restart-command ", DescribeExit(report), ": ", report.stderr_text.substr(0, 500)));
}

}  // namespace sassay::monitor
