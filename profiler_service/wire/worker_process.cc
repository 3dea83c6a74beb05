#include "profiler_service/wire/worker_process.h"

#include <fcntl.h>
#include <poll.h>

#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/status_macros.h"
#include "common/base/steady_time.h"

namespace sassay::wire {
namespace {

absl::StatusOr<Command> Confine(const Command& command, const WorkerOptions& options) {
  if (!options.sandbox.has_value()) return command;
  absl::StatusOr<Command> wrapped = WrapInSandbox(command, *options.sandbox);
  if (wrapped.ok() || !options.allow_unsandboxed.has_value()) return wrapped;
  if (wrapped.status().code() != absl::StatusCode::kFailedPrecondition) return wrapped;
  return WrapWithoutSandbox(command, *options.sandbox, *options.allow_unsandboxed);
}

}  // namespace

WorkerProcess::WorkerProcess(std::string name, Subprocess process, Channel channel)
    : name_(std::move(name)), process_(std::move(process)), channel_(std::move(channel)) {}

WorkerProcess::~WorkerProcess() { Kill(); }

absl::StatusOr<std::unique_ptr<WorkerProcess>> WorkerProcess::Start(const WorkerOptions& options) {
  ASSIGN_OR_RETURN(auto ends, Channel::CreatePair());
  Command command;
  command.argv = options.argv;
  command.environment = options.environment;
  command.inherit_fds = {{ends.second.fd(), kWorkerChannelFd}, {2, 2}};
  if (options.stdout_fd >= 0) command.inherit_fds.emplace_back(options.stdout_fd, 1);
  ASSIGN_OR_RETURN(const Command confined, Confine(command, options));
  ASSIGN_OR_RETURN(Subprocess process, Subprocess::Start(confined));
  ends.first.LimitReceived(options.most_reply_bytes);
  return absl::WrapUnique(new WorkerProcess(options.name, std::move(process), std::move(ends.first)));
}

absl::StatusOr<std::vector<UniqueFd>> WorkerProcess::Call(const google::protobuf::MessageLite& request,
                                                          absl::Span<const int> descriptors,
                                                          google::protobuf::MessageLite& reply, absl::Time deadline) {
  if (absl::Status sent = channel_.Send(request, descriptors, deadline); !sent.ok()) return Explain(sent);
  return Receive(reply, deadline);
}

absl::StatusOr<std::vector<UniqueFd>> WorkerProcess::Receive(google::protobuf::MessageLite& message,
                                                             absl::Time deadline) {
  absl::StatusOr<std::vector<UniqueFd>> received = channel_.Receive(message, deadline);
  // An answer that crossed the kill on its way is no answer any more.
  if (!received.ok() || killed_ || taken().has_value()) return Explain(received.status());
  return received;
}

absl::Status WorkerProcess::Send(const google::protobuf::MessageLite& request, absl::Time deadline) {
  absl::Status sent = channel_.Send(request, {}, deadline);
  if (!sent.ok()) process_.Kill();
  return sent;
}

absl::StatusOr<Channel> WorkerProcess::Listen() const {
  UniqueFd end(fcntl(channel_.fd(), F_DUPFD_CLOEXEC, 0));
  if (!end.valid()) return absl::InternalError(absl::StrCat("the ", name_, "'s channel cannot be duplicated"));
  Channel ears(std::move(end));
  ears.LimitReceived(kMaxReplyBytes);
  return ears;
}

absl::Status WorkerProcess::Explain(const absl::Status& status) {
  if (killed_) return absl::CancelledError(absl::StrCat("the ", name_, " was killed on request"));
  if (const auto why = taken(); why.has_value()) {
    return absl::UnavailableError(absl::StrCat("the ", name_, " (pid ", pid(), ") was ended: ", *why));
  }
  if (absl::IsUnavailable(status)) {
    return absl::UnavailableError(absl::StrCat("the ", name_, " (pid ", pid(), ") was lost: ", HowItEnded()));
  }
  process_.Kill();
  return absl::Status(status.code(), absl::StrCat("the ", name_, " (pid ", pid(), "): ", status.message()));
}

// The channel closes a moment before the process can be waited for.
std::string WorkerProcess::HowItEnded() {
  absl::StatusOr<ExitReport> report = process_.Wait(absl::Now() + absl::Seconds(1));
  if (report.ok()) return DescribeExit(*report);
  process_.Kill();
  return "it closed its channel and went on running";
}

bool WorkerProcess::Alive() const {
  pollfd entry{process_.pidfd(), POLLIN, 0};
  return poll(&entry, 1, 0) == 0;
}

void WorkerProcess::Kill() {
  killed_ = true;
  process_.Kill();
}

void WorkerProcess::TakeAway(absl::string_view why) {
  {
    absl::MutexLock lock(&mutex_);
    taken_ = std::string(why);
  }
  process_.Kill();
}

absl::optional<std::string> WorkerProcess::taken() const {
  absl::MutexLock lock(&mutex_);
  return taken_;
}

absl::StatusOr<ExitReport> WorkerProcess::CloseAndWait(absl::Time deadline) {
  channel_.Release();
  absl::StatusOr<ExitReport> report = process_.Wait(absl::Now() + (deadline - SteadyNow()));
  if (!report.ok()) process_.Kill();
  return report;
}

}  // namespace sassay::wire
