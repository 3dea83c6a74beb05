#include "agent/trajectory/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "agent/trajectory/json_form.h"
#include "agent/trajectory/layout.h"
#include "agent/trajectory/read_log.h"
#include "common/base/fd.h"
#include "common/base/files.h"
#include "common/base/proto_time.h"
#include "common/base/status_macros.h"
#include "common/base/utf8.h"

namespace sassay::agent {
namespace {

absl::Status Failed(absl::string_view what, const std::filesystem::path& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path.string()));
}

absl::Status WriteAt(int fd, absl::string_view text, uint64_t offset, const std::filesystem::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::pwrite(fd, text.data(), text.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("write", path);
    text.remove_prefix(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return absl::OkStatus();
}

}  // namespace

bool MustBeDurable(const v1::TrajectoryRecord& record) {
  return record.has_answered() || record.has_submitted() || record.has_excluded() || record.has_judged() ||
         record.has_rewound() || record.has_ended();
}

absl::StatusOr<std::unique_ptr<TrajectoryLog>> TrajectoryLog::Open(const std::filesystem::path& path,
                                                                   std::function<absl::Time()> now) {
  std::unique_ptr<TrajectoryLog> log(new TrajectoryLog(path, std::move(now)));
  ASSIGN_OR_RETURN(LogContent content, ReadLog(path));
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!fd.valid()) return Failed("open", path);
  if (::ftruncate(fd.get(), static_cast<off_t>(content.whole_bytes)) != 0) return Failed("truncate", path);
  RETURN_IF_ERROR(SyncDirectory(path.parent_path()));
  log->bytes_ = content.whole_bytes;
  log->sequence_ = content.trajectory.last_sequence;
  log->found_ = std::move(content.trajectory);
  return log;
}

absl::Status TrajectoryLog::Append(v1::TrajectoryRecord record) {
  RETURN_IF_ERROR(broken_);
  record.set_sequence(sequence_ + 1);
  SetTimestamp(now_(), *record.mutable_at());
  MakeTextValid(record);
  ASSIGN_OR_RETURN(const std::string line, JsonOf(record));
  if (line.size() > kMaxLineBytes || bytes_ + line.size() >= kMaxLogBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(path_.string(), " would get too large to be read: it has ", bytes_,
                                                     " bytes, and the next line ", line.size(), "; at most ",
                                                     kMaxLogBytes, " and ", kMaxLineBytes, " are possible."));
  }
  RETURN_IF_ERROR(Write(absl::StrCat(line, "\n"), MustBeDurable(record)));
  ++sequence_;
  return absl::OkStatus();
}

absl::Status TrajectoryLog::Write(const std::string& line, bool durably) {
  const UniqueFd fd(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid()) return Failed("open", path_);
  absl::Status status = WriteAt(fd.get(), line, bytes_, path_);
  if (status.ok() && durably && ::fdatasync(fd.get()) != 0) status = Failed("sync", path_);
  if (!status.ok()) {
    if (::ftruncate(fd.get(), static_cast<off_t>(bytes_)) != 0) broken_ = status;
    return status;
  }
  bytes_ += line.size();
  return absl::OkStatus();
}

}  // namespace sassay::agent
