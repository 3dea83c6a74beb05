#include "monitor/sources/our_processes.h"

#include <unistd.h>

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/files.h"

namespace sassay::monitor {
namespace {

constexpr int kDeepest = 64;

}  // namespace

void OurProcesses::Set(pid_t service, std::set<pid_t> workers) {
  absl::MutexLock lock(&mutex_);
  ours_ = std::move(workers);
  ours_.insert(service);
}

pid_t OurProcesses::ParentOf(pid_t pid) const {
  const absl::StatusOr<std::string> stat = ReadFile(proc_ / absl::StrCat(pid) / "stat", 1 << 16);
  if (!stat.ok()) return 0;
  // "PID (name, which may hold anything) STATE PPID …".
  const size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos) return 0;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(*stat).substr(name_end + 1), ' ', absl::SkipEmpty());
  pid_t parent = 0;
  return fields.size() > 1 && absl::SimpleAtoi(fields[1], &parent) ? parent : 0;
}

OurProcesses::Kind OurProcesses::Judge(pid_t pid) const {
  std::set<pid_t> ours;
  {
    absl::MutexLock lock(&mutex_);
    ours = ours_;
  }
  ours.insert(getpid());
  if (ours.count(pid) != 0) return Kind::kOurs;
  pid_t parent = ParentOf(pid);
  if (parent == 0) return Kind::kUnknown;
  for (int depth = 0; depth < kDeepest && parent > 1; ++depth) {
    if (ours.count(parent) != 0) return Kind::kOurs;
    parent = ParentOf(parent);
  }
  return Kind::kForeign;
}

std::string OurProcesses::NameOf(pid_t pid) const {
  const absl::StatusOr<std::string> name = ReadFile(proc_ / absl::StrCat(pid) / "comm", 4096);
  return name.ok() ? std::string(absl::StripAsciiWhitespace(*name)) : "?";
}

}  // namespace sassay::monitor
