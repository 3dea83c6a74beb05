#include "agent/capture/host/supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/capture/host/child.h"
#include "common/base/fd.h"
#include "common/base/status_macros.h"
#include "common/process/subprocess.h"

namespace sassay::capture {
namespace {

constexpr size_t kKeptOutput = 4096;

struct Pipe {
  UniqueFd read_end, write_end;
};

absl::StatusOr<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe2");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

absl::StatusOr<UniqueFd> MemoryFile(absl::string_view text) {
  UniqueFd fd(memfd_create("capture-task", MFD_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "memfd_create");
  while (!text.empty()) {
    const ssize_t written = write(fd.get(), text.data(), text.size());
    if (written <= 0) return absl::ErrnoToStatus(errno, "writing the capture task");
    text.remove_prefix(static_cast<size_t>(written));
  }
  lseek(fd.get(), 0, SEEK_SET);
  return fd;
}

// Both streams of a running child, read until they close, a limit is passed or time is up.
class Streams {
 public:
  Streams(UniqueFd record, UniqueFd output, const SuperviseOptions& options)
      : record_fd_(std::move(record)), output_fd_(std::move(output)), options_(options) {}

  Ending::Kind Drain(absl::Time deadline);
  std::string& record() { return record_; }
  const std::string& output() const { return output_; }

 private:
  // Appends what is there, up to `limit` in all; closes `fd` at its end.
  void Read(UniqueFd& fd, std::string& into, size_t limit);

  UniqueFd record_fd_, output_fd_;
  std::string record_, output_;
  uint64_t printed_ = 0;
  const SuperviseOptions& options_;
};

void Streams::Read(UniqueFd& fd, std::string& into, size_t limit) {
  const size_t room = limit - std::min(limit, into.size());
  char buffer[65536];
  const ssize_t got = read(fd.get(), buffer, sizeof buffer);
  if (got > 0) into.append(buffer, std::min(static_cast<size_t>(got), room));
  if (got > 0 && &into == &output_) printed_ += static_cast<uint64_t>(got);
  if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) fd.reset();
}

Ending::Kind Streams::Drain(absl::Time deadline) {
  while (record_fd_.valid() || output_fd_.valid()) {
    const int64_t left_ms = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left_ms <= 0) return Ending::TIMED_OUT;
    pollfd fds[2] = {{record_fd_.get(), POLLIN, 0}, {output_fd_.get(), POLLIN, 0}};
    if (poll(fds, 2, static_cast<int>(std::min<int64_t>(left_ms, 60000))) <= 0) continue;
    if (fds[0].revents != 0) Read(record_fd_, record_, options_.record_limit_bytes + 1);
    if (fds[1].revents != 0) Read(output_fd_, output_, kKeptOutput);
    if (printed_ > options_.output_limit_bytes) return Ending::PRINTED_TOO_MUCH;
    if (record_.size() > options_.record_limit_bytes) return Ending::RECORDED_TOO_MUCH;
  }
  return Ending::EXITED;
}

Command ChildCommand(const SuperviseOptions& options, int task, int record, int output) {
  Command command;
  command.argv = {options.child_program};
  command.environment = {{"GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"},
                         {"LD_LIBRARY_PATH", options.runtime_directory},
                         {"LC_ALL", "C.UTF-8"}};
  command.rlimits = {{RLIMIT_AS, options.address_space_bytes}};
  command.inherit_fds = {{task, kTaskFd}, {record, kRecordFd}, {output, 1}, {output, 2}};
  return command;
}

// The record up to the first byte that is no event: a killed child may have been in the middle of one.
Record ParseRecord(const std::string& bytes) {
  Record record;
  if (!record.ParsePartialFromString(bytes) && record.events_size() > 0) record.mutable_events()->RemoveLast();
  // What only the supervisor knows is believed from nobody else.
  auto& events = *record.mutable_events();
  events.erase(
      std::remove_if(events.begin(), events.end(),
                     [](const Event& event) { return event.has_ending() || event.has_line() || event.has_entry(); }),
      events.end());
  return record;
}

// A candidate that closes both streams and goes on has until `deadline`, like any other.
absl::StatusOr<Ending> DescribeEnding(Subprocess& child, Ending::Kind kind, absl::Time deadline,
                                      const std::string& output) {
  constexpr absl::Duration kDeathGrace = absl::Seconds(5);
  if (kind == Ending::EXITED && !child.Wait(std::max(deadline, absl::Now() + absl::Seconds(1))).ok())
    kind = Ending::TIMED_OUT;
  if (kind != Ending::EXITED) child.Kill();
  ASSIGN_OR_RETURN(const ExitReport report, child.Wait(absl::Now() + kDeathGrace));
  Ending ending;
  ending.set_kind(kind);
  if (kind == Ending::EXITED && report.kind == ExitReport::Kind::kSignaled) ending.set_kind(Ending::SIGNALED);
  ending.set_status(report.kind == ExitReport::Kind::kSignaled ? report.signal_number : report.exit_code);
  ending.set_output(output);
  return ending;
}

void AddLines(Record& record, const DebugInfo& debug_info) {
  std::set<uint64_t> seen;
  const int events = record.events_size();
  for (int i = 0; i < events; ++i) {
    for (uint64_t pc : record.events(i).pcs()) {
      if (seen.size() > 100000 || !seen.insert(pc).second) continue;
      if (auto line = debug_info.FindLine(pc)) *record.add_events()->mutable_line() = *std::move(line);
    }
  }
}

}  // namespace

absl::StatusOr<Record> Supervise(absl::string_view task, const DebugInfo& debug_info, const Entry& entry,
                                 const SuperviseOptions& options) {
  ASSIGN_OR_RETURN(const UniqueFd task_file, MemoryFile(task));
  ASSIGN_OR_RETURN(Pipe record_pipe, MakePipe());
  ASSIGN_OR_RETURN(Pipe output_pipe, MakePipe());
  ASSIGN_OR_RETURN(Subprocess child,
                   Subprocess::Start(ChildCommand(options, task_file.get(), record_pipe.write_end.get(),
                                                  output_pipe.write_end.get())));
  record_pipe.write_end.reset();
  output_pipe.write_end.reset();
  Streams streams(std::move(record_pipe.read_end), std::move(output_pipe.read_end), options);
  const absl::Time deadline = absl::Now() + options.timeout;
  const Ending::Kind kind = streams.Drain(deadline);
  ASSIGN_OR_RETURN(const Ending ending, DescribeEnding(child, kind, deadline, streams.output()));
  if (ending.kind() == Ending::EXITED && ending.status() == 3 && streams.record().empty()) {
    return absl::InternalError(absl::StrCat("the capture child could not start: ", ending.output()));
  }
  Record record = ParseRecord(streams.record());
  AddLines(record, debug_info);
  *record.add_events()->mutable_ending() = ending;
  *record.add_events()->mutable_entry() = entry;
  return record;
}

}  // namespace sassay::capture
