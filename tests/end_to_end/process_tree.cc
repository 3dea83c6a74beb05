#include "tests/end_to_end/process_tree.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/fd.h"
#include "common/base/status_macros.h"

namespace sassay::testing {
namespace {

// "pid (name) state parent …"; the name may hold spaces and parentheses.
std::optional<Process> ReadProcess(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  Process process;
  process.pid = pid;
  process.name = line.substr(open + 1, close - open - 1);
  std::istringstream rest(line.substr(close + 1));
  rest >> process.state >> process.parent;
  return process;
}

std::vector<Process> Everything() {
  std::vector<Process> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    if (auto process = ReadProcess(pid)) found.push_back(*std::move(process));
  }
  return found;
}

absl::Status WaitForDeath(const Process& orphan, absl::Time deadline) {
  const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, orphan.pid, 0)));
  if (pidfd.valid()) {
    pollfd entry{pidfd.get(), POLLIN, 0};
    const int left = std::max(0, static_cast<int>(absl::ToInt64Milliseconds(deadline - absl::Now())));
    if (poll(&entry, 1, left) <= 0) {
      return absl::DeadlineExceededError(absl::StrCat(orphan.name, " (pid ", orphan.pid, ") lives on as an orphan"));
    }
  }
  waitpid(orphan.pid, nullptr, WNOHANG);
  return absl::OkStatus();
}

}  // namespace

std::vector<Process> DescendantsOf(pid_t root) {
  const std::vector<Process> everything = Everything();
  std::vector<Process> found;
  std::vector<pid_t> parents = {root};
  for (size_t i = 0; i < parents.size(); ++i) {
    for (const Process& process : everything) {
      if (process.parent != parents[i]) continue;
      found.push_back(process);
      parents.push_back(process.pid);
    }
  }
  return found;
}

std::vector<pid_t> LivingDescendants(pid_t root, const std::string& name) {
  std::vector<pid_t> found;
  for (const Process& process : DescendantsOf(root)) {
    if (process.name == name && process.state != 'Z') found.push_back(process.pid);
  }
  return found;
}

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

absl::StatusOr<int> WaitForOrphansToDie(const std::set<pid_t>& ours, const std::set<std::string>& names_of_ours,
                                        absl::Time deadline) {
  const auto is_orphan = [&](const Process& process) {
    return process.parent == getpid() && ours.count(process.pid) == 0 && names_of_ours.count(process.name) == 0;
  };
  for (int count = 0;;) {
    bool found = false;
    for (const Process& process : DescendantsOf(getpid())) {
      if (!is_orphan(process)) continue;
      RETURN_IF_ERROR(WaitForDeath(process, deadline));
      found = true;
      ++count;
    }
    if (!found) return count;
  }
}

}  // namespace sassay::testing
