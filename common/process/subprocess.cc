#include "common/process/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"
#include "common/process/every_run.h"
#include "common/process/spawn.h"
#include "common/process/thread_stop.h"

namespace sassay {
namespace {

constexpr absl::Duration kDeathGrace = absl::Seconds(1);
constexpr absl::Duration kStopInterval = absl::Milliseconds(50);
constexpr size_t kTailBytes = 64 << 10;

bool HasNul(const std::string& text) { return text.find('\0') != std::string::npos; }

absl::Status CheckCommand(const Command& command) {
  if (command.argv.empty() || command.argv[0].empty()) return absl::InvalidArgumentError("a command needs a program");
  bool nul = std::any_of(command.argv.begin(), command.argv.end(), HasNul);
  for (const auto& [name, value] : command.environment) nul = nul || HasNul(name) || HasNul(value);
  if (nul) return absl::InvalidArgumentError(absl::StrCat("NUL in an argument or variable of ", command.argv[0]));
  return absl::OkStatus();
}

bool IsExecutableFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

int PollMilliseconds(absl::Time deadline) {
  absl::Duration left = deadline - SteadyNow();
  if (left <= absl::ZeroDuration()) return 0;
  if (left > absl::Hours(1)) return 3600 * 1000;
  return static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
}

// Whether `fd` became readable before `deadline`, which is one of SteadyNow.
bool WaitReadable(int fd, absl::Time deadline) {
  for (;;) {
    pollfd entry{fd, POLLIN, 0};
    if (poll(&entry, 1, PollMilliseconds(deadline)) > 0) return true;
    if (SteadyNow() >= deadline) return false;
  }
}

ExitReport MakeReport(const siginfo_t& info, const rusage& usage, absl::Duration wall) {
  ExitReport report;
  report.kind = info.si_code == CLD_EXITED ? ExitReport::Kind::kExited : ExitReport::Kind::kSignaled;
  (info.si_code == CLD_EXITED ? report.exit_code : report.signal_number) = info.si_status;
  report.wall = wall;
  report.cpu = absl::DurationFromTimeval(usage.ru_utime) + absl::DurationFromTimeval(usage.ru_stime);
  report.peak_resident_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
  return report;
}

}  // namespace

struct Subprocess::State {
  process_internal::Spawned child;
  absl::Time started = SteadyNow();
  absl::Mutex mutex;
  // While unset the pid is ours (running or zombie), so the group's number cannot have been reused.
  std::optional<ExitReport> report ABSL_GUARDED_BY(mutex);

  void Kill() {
    absl::MutexLock lock(&mutex);
    if (!report) kill(-child.pid, SIGKILL);
  }

  // Call when the pidfd is readable.
  absl::StatusOr<ExitReport> Reap() {
    absl::MutexLock lock(&mutex);
    if (report) return *report;
    kill(-child.pid, SIGKILL);
    siginfo_t info = {};
    rusage usage = {};
    // glibc's waitid drops the fifth argument, which holds the resources used.
    while (syscall(SYS_waitid, P_PID, child.pid, &info, WEXITED, &usage) != 0) {
      if (errno != EINTR) return absl::ErrnoToStatus(errno, "cannot wait for a child (is SIGCHLD ignored?)");
    }
    report = MakeReport(info, usage, SteadyNow() - started);
    return *report;
  }
};

Subprocess::Subprocess(std::unique_ptr<State> state) : state_(std::move(state)) {}
Subprocess::Subprocess(Subprocess&&) noexcept = default;
Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  Subprocess old(std::move(*this));
  state_ = std::move(other.state_);
  return *this;
}

Subprocess::~Subprocess() {
  if (state_ == nullptr) return;
  state_->Kill();
  if (WaitReadable(state_->child.pidfd.get(), SteadyNow() + kDeathGrace)) {
    state_->Reap().IgnoreError();
    return;
  }
  std::thread([state = std::move(state_)] {
    WaitReadable(state->child.pidfd.get(), absl::InfiniteFuture());
    state->Reap().IgnoreError();
  }).detach();
}

absl::StatusOr<Subprocess> Subprocess::Start(const Command& command) {
  RETURN_IF_ERROR(CheckCommand(command));
  ASSIGN_OR_RETURN(std::string program, FindProgram(command.argv[0]));
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->child, process_internal::Spawn(command, program));
  return Subprocess(std::move(state));
}

pid_t Subprocess::pid() const { return state_->child.pid; }
int Subprocess::pidfd() const { return state_->child.pidfd.get(); }
void Subprocess::Kill() { state_->Kill(); }

absl::StatusOr<ExitReport> Subprocess::Wait(absl::Time deadline) {
  if (!WaitReadable(pidfd(), SteadyDeadline(deadline))) {
    return absl::DeadlineExceededError(absl::StrCat("process ", pid(), " is still running"));
  }
  return state_->Reap();
}

absl::StatusOr<std::string> FindProgram(absl::string_view program) {
  std::string name(program);
  if (name.find('/') != std::string::npos) {
    if (access(name.c_str(), F_OK) == 0) return name;
    return absl::NotFoundError(absl::StrCat("no such program: ", name));
  }
  const char* path = getenv("PATH");
  for (absl::string_view directory : absl::StrSplit(path == nullptr ? "/usr/bin:/bin" : path, ':', absl::SkipEmpty())) {
    std::string candidate = absl::StrCat(directory, "/", name);
    if (IsExecutableFile(candidate)) return candidate;
  }
  return absl::NotFoundError(absl::StrCat("no program ", name, " in PATH"));
}

namespace {

// One captured stream: a pipe whose read end is ours.
class Stream {
 public:
  static absl::StatusOr<Stream> Create(int child_fd, uint64_t limit, Command& command) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot make a pipe");
    Stream stream(ends[0], limit);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    command.inherit_fds.emplace_back(ends[1], child_fd);
    command.owned_fds.push_back(std::make_shared<UniqueFd>(ends[1]));
    return stream;
  }

  // -1, which poll ignores, after the end.
  int fd() const { return reader_.get(); }
  std::string TakeText() { return std::move(text_); }
  std::string TakeTail() {
    CutTail();
    return std::move(tail_);
  }
  bool truncated() const { return truncated_; }

  // Reads what is there, at most a few megabytes at once so that a flood does not hide the deadline.
  void Drain() {
    std::array<char, 1 << 16> buffer;
    for (int round = 0; round < 32 && reader_.valid(); ++round) {
      ssize_t got = read(reader_.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return;
      if (got == 0) return reader_.reset();
      Keep({buffer.data(), static_cast<size_t>(got)});
    }
  }

 private:
  Stream(int fd, uint64_t limit) : reader_(fd), limit_(limit) {}

  void Keep(absl::string_view piece) {
    size_t room = std::min<uint64_t>(piece.size(), limit_ - text_.size());
    text_.append(piece.data(), room);
    truncated_ = truncated_ || room < piece.size();
    tail_.append(piece.data() + room, piece.size() - room);
    if (tail_.size() > 2 * kTailBytes) CutTail();
  }

  void CutTail() { tail_.erase(0, tail_.size() - std::min(tail_.size(), kTailBytes)); }

  UniqueFd reader_;
  uint64_t limit_;
  std::string text_;
  std::string tail_;
  bool truncated_ = false;
};

absl::Status SetStandardInput(absl::string_view text, Command& command) {
  if (text.empty()) return absl::OkStatus();
  auto file = std::make_shared<UniqueFd>(memfd_create("stdin", MFD_CLOEXEC));
  while (!text.empty()) {
    ssize_t written = write(file->get(), text.data(), text.size());
    if (written < 0) return absl::ErrnoToStatus(errno, "cannot keep the child's input");
    text.remove_prefix(static_cast<size_t>(written));
  }
  lseek(file->get(), 0, SEEK_SET);
  command.inherit_fds.emplace_back(file->get(), 0);
  command.owned_fds.push_back(std::move(file));
  return absl::OkStatus();
}

// Readable once every run is cancelled.
int CancelFd() {
  static const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fd;
}

enum class Collected { kEnded, kDeadline, kCancelled };

// Reads both streams until the child has ended, time is up or somebody asks to stop.
Collected Collect(int pidfd, Stream& out, Stream& err, absl::Time deadline, const StopAsked& stop) {
  const StopAsked* const thread_stop = ThreadStop::Current();
  for (;;) {
    std::array<pollfd, 4> entries{
        {{pidfd, POLLIN, 0}, {out.fd(), POLLIN, 0}, {err.fd(), POLLIN, 0}, {CancelFd(), POLLIN, 0}}};
    const absl::Time look = stop || thread_stop != nullptr ? std::min(deadline, SteadyNow() + kStopInterval) : deadline;
    poll(entries.data(), entries.size(), PollMilliseconds(look));
    out.Drain();
    err.Drain();
    if ((entries[3].revents & POLLIN) != 0) return Collected::kCancelled;
    if (thread_stop != nullptr && (*thread_stop)()) return Collected::kCancelled;
    if ((entries[0].revents & POLLIN) != 0) return Collected::kEnded;
    if (SteadyNow() >= deadline || (stop && stop())) return Collected::kDeadline;
  }
}

}  // namespace

absl::StatusOr<ExitReport> RunToCompletion(const Command& original, absl::Duration timeout, uint64_t output_limit_bytes,
                                           absl::string_view stdin_text, const StopAsked& stop) {
  Command command = original;
  ASSIGN_OR_RETURN(Stream out, Stream::Create(1, output_limit_bytes, command));
  ASSIGN_OR_RETURN(Stream err, Stream::Create(2, output_limit_bytes, command));
  RETURN_IF_ERROR(SetStandardInput(stdin_text, command));
  absl::Time deadline = SteadyNow() + timeout;
  ASSIGN_OR_RETURN(Subprocess child, Subprocess::Start(command));
  command = Command();  // our copies of the write ends
  const Collected collected = Collect(child.pidfd(), out, err, deadline, stop);
  const bool ended = collected == Collected::kEnded;
  if (!ended) child.Kill();
  ASSIGN_OR_RETURN(ExitReport report, child.Wait(absl::Now() + (ended ? absl::Seconds(10) : kDeathGrace)));
  if (collected == Collected::kCancelled) return absl::CancelledError("interrupted");
  out.Drain();
  err.Drain();
  if (!ended) report.kind = ExitReport::Kind::kTimedOut;
  report.stdout_text = out.TakeText();
  report.stderr_text = err.TakeText();
  report.stderr_tail = err.TakeTail();
  report.output_truncated = out.truncated() || err.truncated();
  return report;
}

void CancelEveryRun() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(CancelFd(), &one, sizeof one);
}

bool EveryRunIsCancelled() {
  pollfd entry{CancelFd(), POLLIN, 0};
  return poll(&entry, 1, 0) > 0;
}

std::string DescribeExit(const ExitReport& report) {
  switch (report.kind) {
    case ExitReport::Kind::kExited:
      return absl::StrCat("exited with status ", report.exit_code);
    case ExitReport::Kind::kSignaled:
      return absl::StrCat("killed by signal ", report.signal_number, " (", strsignal(report.signal_number), ")");
    case ExitReport::Kind::kTimedOut:
      break;
  }
  return absl::StrCat("killed after ", absl::FormatDuration(report.wall));
}

}  // namespace sassay
