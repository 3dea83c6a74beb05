#include "common/process/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace sassay::process_internal {
namespace {

// Steps of the child that can fail; the index travels back to the parent.
enum Step : int { kDescriptors, kDirectory, kLimits, kPrivileges, kRestriction, kExec };
constexpr const char* kStepNames[] = {
    "preparing its descriptors", "entering its working directory", "setting its limits",
    "giving up privileges",      "taking on Landlock and seccomp", "executing it"};

struct Failure {
  int step = 0;
  int error = 0;
};

struct Limit {
  int resource;
  rlimit value;
};

// Everything the child needs, made before the fork: after it nothing may allocate.
struct Plan {
  const char* program;
  std::vector<char*> argv;
  std::vector<std::string> environment;
  std::vector<char*> envp;
  const char* directory;
  std::vector<std::pair<int, int>> fds;  // source, target
  std::vector<Limit> limits;
  bool no_new_privileges;
  int landlock_rules;
  sock_fprog filter;
  int signal_at_our_death;
  int lowest_free = 3;  // above every target
  int highest_open = 1024;
  int failure_fd;
  pid_t parent;
};

Plan MakePlan(const Command& command, const std::string& program, int null_fd, int failure_fd) {
  Plan plan;
  plan.program = program.c_str();
  for (const auto& a : command.argv) plan.argv.push_back(const_cast<char*>(a.c_str()));
  plan.argv.push_back(nullptr);
  for (const auto& [name, value] : command.environment) plan.environment.push_back(absl::StrCat(name, "=", value));
  for (auto& e : plan.environment) plan.envp.push_back(e.data());
  plan.envp.push_back(nullptr);
  plan.directory = command.working_directory.empty() ? nullptr : command.working_directory.c_str();
  for (int standard = 0; standard < 3; ++standard) plan.fds.emplace_back(null_fd, standard);
  for (const auto& fd : command.inherit_fds) {
    std::erase_if(plan.fds, [&](const auto& other) { return other.second == fd.second; });
    plan.fds.push_back(fd);
    plan.lowest_free = std::max(plan.lowest_free, fd.second + 1);
  }
  for (const auto& [resource, value] : command.rlimits) plan.limits.push_back({resource, {value, value}});
  plan.no_new_privileges = command.no_new_privileges;
  plan.landlock_rules = command.landlock_rules;
  plan.filter = {static_cast<unsigned short>(command.seccomp_program.size() / sizeof(sock_filter)),
                 reinterpret_cast<sock_filter*>(const_cast<char*>(command.seccomp_program.data()))};
  plan.signal_at_our_death = command.signal_at_our_death;
  rlimit open_files;
  if (getrlimit(RLIMIT_NOFILE, &open_files) == 0) plan.highest_open = static_cast<int>(open_files.rlim_cur);
  plan.failure_fd = failure_fd;
  plan.parent = getpid();
  return plan;
}

// ---- in the child: async-signal-safe calls only ----

[[noreturn]] void Fail(int failure_fd, Step step) {
  Failure failure{step, errno};
  [[maybe_unused]] ssize_t written = write(failure_fd, &failure, sizeof(failure));
  _exit(127);
}

void ResetSignals() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

void CloseOnExecFrom(int first, int highest) {
  if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int fd = first; fd < highest; ++fd) fcntl(fd, F_SETFD, FD_CLOEXEC);  // kernels before 5.11
}

// Sources are first moved out of the way of every target.
bool MapDescriptors(Plan& plan) {
  plan.failure_fd = fcntl(plan.failure_fd, F_DUPFD_CLOEXEC, plan.lowest_free);
  if (plan.failure_fd < 0) return false;
  for (auto& [source, target] : plan.fds) {
    source = fcntl(source, F_DUPFD_CLOEXEC, plan.lowest_free);
    if (source < 0) return false;
  }
  if (plan.landlock_rules >= 0) {
    plan.landlock_rules = fcntl(plan.landlock_rules, F_DUPFD_CLOEXEC, plan.lowest_free);
    if (plan.landlock_rules < 0) return false;
  }
  CloseOnExecFrom(3, plan.highest_open);
  for (auto& [source, target] : plan.fds) {
    if (dup2(source, target) < 0) return false;
  }
  return true;
}

bool SetLimits(const Plan& plan) {
  for (const auto& limit : plan.limits) {
    if (setrlimit(static_cast<__rlimit_resource>(limit.resource), &limit.value) != 0) return false;
  }
  return true;
}

bool Restrict(const Plan& plan) {
  constexpr long kLandlockRestrictSelf = 446;
  if (plan.landlock_rules >= 0 && syscall(kLandlockRestrictSelf, plan.landlock_rules, 0) != 0) return false;
  return plan.filter.len == 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &plan.filter) == 0;
}

[[noreturn]] void RunChild(Plan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, plan.signal_at_our_death);
  if (getppid() != plan.parent) _exit(127);
  ResetSignals();
  if (!MapDescriptors(plan)) Fail(plan.failure_fd, kDescriptors);
  if (plan.directory != nullptr && chdir(plan.directory) != 0) Fail(plan.failure_fd, kDirectory);
  if (!SetLimits(plan)) Fail(plan.failure_fd, kLimits);
  if (plan.no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fail(plan.failure_fd, kPrivileges);
  if (!Restrict(plan)) Fail(plan.failure_fd, kRestriction);
  execve(plan.program, plan.argv.data(), plan.envp.data());
  Fail(plan.failure_fd, kExec);
}

// ---- in the parent ----

__attribute__((noinline)) pid_t Fork(Plan& plan) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  pid_t pid = vfork();
#pragma GCC diagnostic pop
  if (pid == 0) RunChild(plan);
  return pid;
}

absl::Status FailureStatus(const Failure& failure, const Command& command) {
  std::string what = absl::StrCat("cannot start ", command.argv[0], ": ", kStepNames[failure.step],
                                  failure.step == kDirectory ? absl::StrCat(" ", command.working_directory) : "",
                                  " failed: ", strerror(failure.error));
  return absl::ErrnoToStatus(failure.error, what);
}

absl::StatusOr<Spawned> SpawnHere(const Command& command, const std::string& program) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
  UniqueFd reader(ends[0]), writer(ends[1]), null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return absl::ErrnoToStatus(errno, "cannot open /dev/null");
  Plan plan = MakePlan(command, program, null.get(), writer.get());
  Spawned spawned;
  spawned.pid = Fork(plan);
  if (spawned.pid < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot fork for ", command.argv[0]));
  writer.reset();
  Failure failure;
  ssize_t got = 0;
  while ((got = read(reader.get(), &failure, sizeof(failure))) < 0 && errno == EINTR) {
  }
  if (got == 0) {
    spawned.pidfd.reset(static_cast<int>(syscall(SYS_pidfd_open, spawned.pid, 0)));
    if (spawned.pidfd.valid()) return spawned;
    failure = {kExec, errno};
    kill(-spawned.pid, SIGKILL);
  }
  while (waitpid(spawned.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return FailureStatus(failure, command);
}

// The one thread that forks. Never destroyed: its end would kill every child. A process that was itself forked without
// exec has lost the thread and gets a new one.
class Forker {
 public:
  static Forker& Get() {
    static absl::Mutex* mutex = new absl::Mutex;
    static Forker* forker = nullptr;
    absl::MutexLock lock(mutex);
    if (forker == nullptr || forker->owner_ != getpid()) forker = new Forker;
    return *forker;
  }

  void Run(std::function<void()> job) {
    absl::Notification done;
    {
      absl::MutexLock lock(&mutex_);
      jobs_.push_back([&] {
        job();
        done.Notify();
      });
    }
    done.WaitForNotification();
  }

 private:
  Forker() { std::thread(&Forker::Serve, this).detach(); }

  void Serve() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    for (;;) Next()();
  }

  std::function<void()> Next() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](std::deque<std::function<void()>>* jobs) { return !jobs->empty(); }, &jobs_));
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    return job;
  }

  const pid_t owner_ = getpid();
  absl::Mutex mutex_;
  std::deque<std::function<void()>> jobs_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<Spawned> Spawn(const Command& command, const std::string& program) {
  absl::StatusOr<Spawned> result = absl::InternalError("not run");
  Forker::Get().Run([&] { result = SpawnHere(command, program); });
  return result;
}

}  // namespace sassay::process_internal
