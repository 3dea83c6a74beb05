#include "common/sandbox/in_place.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/sandbox/seccomp_filter.h"

namespace sassay::sandbox_internal {
namespace {

namespace fs = std::filesystem;

// The kernel's interface by its numbers (Documentation/userspace-api/landlock.rst): the build machine's headers may be
// older than the host's kernel.
constexpr long kCreateRuleset = 444, kAddRule = 445;
constexpr uint32_t kAskVersion = 1;
constexpr int kBelowPath = 1;
enum Access : uint64_t {
  kExecute = 1 << 0,
  kWriteFile = 1 << 1,
  kReadFile = 1 << 2,
  kReadFolder = 1 << 3,
  kAllOfVersion1 = (1 << 13) - 1,
  kRefer = 1 << 13,        // since version 2
  kTruncate = 1 << 14,     // 3
  kDeviceIoctl = 1 << 15,  // 5
};
constexpr uint64_t kTcp = 3;                // bind and connect; 4
constexpr uint64_t kSignalsAndSockets = 3;  // abstract sockets and signals; 6

struct Ruleset {
  uint64_t files = 0, network = 0, scopes = 0;
};

struct __attribute__((packed)) PathRule {
  uint64_t allowed;
  int32_t parent;
};

constexpr uint64_t kRead = kExecute | kReadFile | kReadFolder;

Ruleset Handled(int version) {
  Ruleset handled;
  handled.files = kAllOfVersion1;
  if (version >= 2) handled.files |= kRefer;
  if (version >= 3) handled.files |= kTruncate;
  if (version >= 5) handled.files |= kDeviceIoctl;
  if (version >= 4) handled.network = kTcp;
  if (version >= 6) handled.scopes = kSignalsAndSockets;
  return handled;
}

class Rules {
 public:
  static absl::StatusOr<Rules> Make(int version) {
    const Ruleset handled = Handled(version);
    // Kernels that know less take what they know if the rest is left out.
    const size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    Rules rules(static_cast<int>(syscall(kCreateRuleset, &handled, size, 0)), handled.files);
    if (!rules.fd_->valid()) return absl::ErrnoToStatus(errno, "cannot make a Landlock ruleset");
    return rules;
  }

  absl::Status Allow(const fs::path& path, uint64_t access) {
    const UniqueFd fd(open(path.c_str(), O_PATH | O_CLOEXEC));
    if (!fd.valid()) return absl::ErrnoToStatus(errno, absl::StrCat("sandbox: no ", path.string()));
    struct stat info;
    constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kDeviceIoctl;
    if (fstat(fd.get(), &info) == 0 && !S_ISDIR(info.st_mode)) access &= kOfFiles;
    const PathRule rule{access & handled_, fd.get()};
    if (syscall(kAddRule, fd_->get(), kBelowPath, &rule, 0) == 0) return absl::OkStatus();
    return absl::ErrnoToStatus(errno, absl::StrCat("Landlock refuses a rule for ", path.string()));
  }

  // The same for what hosts may lack.
  absl::Status AllowIfThere(const fs::path& path, uint64_t access) {
    return ::access(path.c_str(), F_OK) == 0 ? Allow(path, access) : absl::OkStatus();
  }

  std::shared_ptr<UniqueFd> fd() const { return fd_; }
  uint64_t everything() const { return handled_; }

 private:
  Rules(int fd, uint64_t handled) : fd_(std::make_shared<UniqueFd>(fd)), handled_(handled) {}

  std::shared_ptr<UniqueFd> fd_;
  uint64_t handled_;
};

absl::Status AllowSystem(Rules& rules) {
  for (const char* path : {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives"})
    RETURN_IF_ERROR(rules.AllowIfThere(path, kRead));
  for (const char* path : {"/etc/ld.so.cache", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version",
                           "/proc/filesystems", "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu"})
    RETURN_IF_ERROR(rules.AllowIfThere(path, kReadFile | kReadFolder));
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
    RETURN_IF_ERROR(rules.AllowIfThere(path, kReadFile | kWriteFile | kTruncate));
  return absl::OkStatus();
}

absl::StatusOr<Rules> MakeRules(const SandboxPolicy& policy, int version) {
  ASSIGN_OR_RETURN(Rules rules, Rules::Make(version));
  RETURN_IF_ERROR(AllowSystem(rules));
  for (const auto& [host, inside] : policy.read_only) RETURN_IF_ERROR(rules.Allow(host, kRead));
  for (const auto& [host, inside] : policy.writable) RETURN_IF_ERROR(rules.Allow(host, rules.everything()));
  for (const auto& device : policy.devices) RETURN_IF_ERROR(rules.Allow(device, kReadFile | kWriteFile | kDeviceIoctl));
  return rules;
}

absl::StatusOr<std::string> FilterProgram(const SeccompOptions& options) {
  ASSIGN_OR_RETURN(const auto file, MakeSeccompFilter(options));
  std::string program;
  char buffer[4096];
  for (ssize_t got; (got = read(file->get(), buffer, sizeof buffer)) > 0;)
    program.append(buffer, static_cast<size_t>(got));
  return program;
}

// Threads of our user, which RLIMIT_NPROC counts.
uint64_t ThreadsOfOurs() {
  uint64_t threads = 0;
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    struct stat info;
    const std::string tasks = process.path() / "task";
    if (stat(tasks.c_str(), &info) == 0 && info.st_uid == geteuid()) threads += info.st_nlink - 2;
  }
  return threads;
}

// Root keeps its number, for whose files are these, and nothing of its power.
absl::Status DropCapabilities(Command& command) {
  constexpr char kSetpriv[] = "/usr/bin/setpriv";
  if (geteuid() != 0) return absl::OkStatus();
  if (access(kSetpriv, X_OK) != 0)
    return absl::FailedPreconditionError("setpriv is not in /usr/bin (apt-get install util-linux)");
  ASSIGN_OR_RETURN(command.argv[0], FindProgram(command.argv[0]));
  command.argv.insert(command.argv.begin(), {kSetpriv, "--bounding-set=-all", "--inh-caps=-all",
                                             "--securebits=+noroot,+noroot_locked", "--no-new-privs", "--"});
  return absl::OkStatus();
}

}  // namespace

int LandlockVersion() {
  const long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

absl::Status HoldInPlace(const SandboxPolicy& policy, Command& command, int version) {
  if (version == 0) return absl::FailedPreconditionError("this kernel has no Landlock");
  ASSIGN_OR_RETURN(const Rules rules, MakeRules(policy, version));
  ASSIGN_OR_RETURN(command.seccomp_program, FilterProgram({.allow_personality = policy.allow_personality,
                                                           .in_place = true,
                                                           .allow_signals = policy.sends_signals,
                                                           .signals_stay_inside = version >= 6}));
  command.landlock_rules = rules.fd()->get();
  command.owned_fds.push_back(rules.fd());
  command.no_new_privileges = true;
  if (policy.processes != 0 && geteuid() != 0)
    command.rlimits.emplace_back(RLIMIT_NPROC, ThreadsOfOurs() + policy.processes);
  if (!policy.writable.empty()) command.environment.emplace("TMPDIR", policy.writable.front().first);
  return DropCapabilities(command);
}

}  // namespace sassay::sandbox_internal
