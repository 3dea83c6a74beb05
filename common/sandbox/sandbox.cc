#include "common/sandbox/sandbox.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/process/thread_stop.h"
#include "common/sandbox/in_place.h"
#include "common/sandbox/remedy.h"
#include "common/sandbox/seccomp_filter.h"
#include "common/sandbox/user_namespace.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using sandbox_internal::kSandboxId;

constexpr absl::Duration kProbeTimeout = absl::Seconds(20);

// util-linux, found once: they change ids and limits after the namespaces are made.
struct Programs {
  std::string bubblewrap, prlimit, setpriv;
};

std::function<std::string()>& OfferedBubblewrap() {
  static auto* offered = new std::function<std::string()>();
  return *offered;
}

std::string FindBubblewrap() {
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (fs::path place : {folder / "../libexec/sassay/bwrap", folder / "../libexec/bwrap", folder / "bwrap"}) {
    if (access(place.c_str(), X_OK) == 0) return fs::weakly_canonical(place).string();
  }
  const absl::StatusOr<std::string> installed = FindProgram("bwrap");
  if (installed.ok()) return *installed;
  return OfferedBubblewrap() ? OfferedBubblewrap()() : "";
}

std::string FindSystemProgram(const std::string& name) {
  std::string path = "/usr/bin/" + name;
  return access(path.c_str(), X_OK) == 0 ? path : "";
}

const Programs& FoundPrograms() {
  static const Programs* programs =
      new Programs{FindBubblewrap(), FindSystemProgram("prlimit"), FindSystemProgram("setpriv")};
  return *programs;
}

bool IsRoot() { return geteuid() == 0; }

// ---- what the policy names must be usable ----

// bubblewrap resolves relative paths in a folder of its own.
absl::Status CheckAbsolute(const std::string& path) {
  if (fs::path(path).is_absolute()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("sandbox: \"", path, "\" must be an absolute path"));
}

absl::Status CheckReadable(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("sandbox: no ", path));
  mode_t needed = S_ISDIR(info.st_mode) ? 05 : 04;
  if (!IsRoot() || info.st_uid == kSandboxId || (info.st_mode & needed) == needed) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("sandbox: ", path, " is closed to uid ", kSandboxId,
                                                  ", which sandboxed programs of root run under; ",
                                                  "make it readable (chmod o+rX) or hand over a folder inside it"));
}

absl::Status GiveAway(const fs::path& path) {
  if (lchown(path.c_str(), kSandboxId, kSandboxId) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("sandbox: cannot give ", path.string(), " to uid ", kSandboxId));
}

absl::Status MakeWritable(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return absl::NotFoundError(absl::StrCat("sandbox: no ", path));
  if (!IsRoot()) return absl::OkStatus();
  RETURN_IF_ERROR(GiveAway(path));
  if (!fs::is_directory(path, error)) return absl::OkStatus();
  for (const auto& entry : fs::recursive_directory_iterator(path, error)) RETURN_IF_ERROR(GiveAway(entry.path()));
  return absl::OkStatus();
}

// ---- bubblewrap's options ----

using Options = std::vector<std::string>;

void Append(Options& options, std::initializer_list<std::string> more) {
  options.insert(options.end(), more.begin(), more.end());
}

void AddSystem(Options& options) {
  Append(options, {"--ro-bind", "/usr", "/usr"});
  for (const char* name : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    std::error_code error;
    if (fs::is_symlink(name, error)) {
      Append(options, {"--symlink", fs::read_symlink(name, error).string(), name});
    } else if (fs::is_directory(name, error)) {
      Append(options, {"--ro-bind", name, name});
    }
  }
  Append(options, {"--dir", "/etc"});  // parents that bubblewrap makes by itself are 0700
  for (const char* name : {"/etc/ld.so.cache", "/etc/alternatives"}) Append(options, {"--ro-bind-try", name, name});
}

void AddTmpfs(Options& options, uint64_t bytes, const std::string& where) {
  Append(options, {"--size", absl::StrCat(bytes), "--perms", "1777", "--tmpfs", where});
}

void AddPrivateFolders(Options& options, const SandboxPolicy& policy) {
  if (policy.mount_proc) Append(options, {"--proc", "/proc"});
  Append(options, {"--dev", "/dev"});
  for (const auto& device : policy.devices) Append(options, {"--dev-bind", device, device});
  if (policy.tmp_bytes == 0) return;
  AddTmpfs(options, policy.tmp_bytes, "/dev/shm");
  AddTmpfs(options, policy.tmp_bytes, "/tmp");
}

void AddHidden(Options& options, const SandboxPolicy& policy) {
  for (const auto& path : policy.hidden) {
    std::error_code error;
    if (!fs::is_directory(path, error)) continue;
    Append(options, {"--tmpfs", path, "--remount-ro", path});
  }
}

// bubblewrap makes missing parents of a mount 0700, which would shut out the user nobody, under whom the program runs.
void AddParents(Options& options, const fs::path& inside) {
  fs::path parent;
  for (const auto& part : inside.parent_path()) {
    parent /= part;
    if (parent != "/") Append(options, {"--dir", parent.string()});
  }
}

absl::Status AddPolicyPaths(Options& options, const SandboxPolicy& policy) {
  for (const auto& [host, inside] : policy.read_only) {
    RETURN_IF_ERROR(CheckAbsolute(host));
    RETURN_IF_ERROR(CheckReadable(host));
    AddParents(options, inside);
    Append(options, {"--ro-bind", host, inside});
  }
  for (const auto& [host, inside] : policy.writable) {
    RETURN_IF_ERROR(CheckAbsolute(host));
    RETURN_IF_ERROR(MakeWritable(host));
    AddParents(options, inside);
    Append(options, {"--bind", host, inside});
  }
  return absl::OkStatus();
}

absl::StatusOr<Options> MakeOptions(const Command& command, const SandboxPolicy& policy) {
  Options options = {"--unshare-pid",        "--unshare-ipc", "--unshare-uts",    "--unshare-net",
                     "--unshare-cgroup-try", "--hostname",    "sandbox",          "--new-session",
                     "--cap-drop",           "ALL",           "--die-with-parent"};
  AddSystem(options);
  AddPrivateFolders(options, policy);
  AddHidden(options, policy);
  RETURN_IF_ERROR(AddPolicyPaths(options, policy));
  // The root and /dev are tmpfs that the program could fill otherwise.
  Append(options, {"--remount-ro", "/dev", "--remount-ro", "/"});
  Append(options, {"--chdir", command.working_directory.empty() ? "/" : command.working_directory});
  return options;
}

// ---- what runs inside before the program ----

void AddLimit(std::vector<std::string>& argv, const char* name, uint64_t value) {
  if (value != 0) argv.push_back(absl::StrCat("--", name, "=", value, ":", value));
}

// A whole number of seconds, rounded up; 0 for unlimited.
uint64_t CpuSeconds(const SandboxPolicy& policy) {
  if (policy.cpu_time == absl::InfiniteDuration()) return 0;
  return static_cast<uint64_t>(
      std::max<int64_t>(1, absl::ToInt64Seconds(absl::Ceil(policy.cpu_time, absl::Seconds(1)))));
}

std::vector<std::string> LimitedArgv(const Command& command, const SandboxPolicy& policy) {
  std::vector<std::string> argv = {FoundPrograms().prlimit, "--core=0:0"};
  // bubblewrap's own process in there has our uid unless we are root.
  AddLimit(argv, "nproc", policy.processes == 0 ? 0 : policy.processes + (IsRoot() ? 0 : 1));
  AddLimit(argv, "as", policy.address_space_bytes);
  AddLimit(argv, "fsize", policy.file_bytes);
  AddLimit(argv, "nofile", policy.open_files);
  AddLimit(argv, "cpu", CpuSeconds(policy));
  argv.push_back("--");
  argv.insert(argv.end(), command.argv.begin(), command.argv.end());
  return argv;
}

// ---- descriptors ----

bool IsTaken(const Command& command, int number) {
  return std::any_of(command.inherit_fds.begin(), command.inherit_fds.end(),
                     [&](const auto& fd) { return fd.second == number; });
}

// The first number from 3 on that the command does not use.
int FreeNumber(const Command& command) {
  int number = 3;
  while (IsTaken(command, number)) ++number;
  return number;
}

// Hands `fd` to bubblewrap.
std::string HandOver(Command& wrapped, std::shared_ptr<UniqueFd> fd) {
  const int number = FreeNumber(wrapped);
  wrapped.inherit_fds.emplace_back(fd->get(), number);
  wrapped.owned_fds.push_back(std::move(fd));
  return absl::StrCat(number);
}

// Options travel in a file, so that the program cannot read host paths from /proc/1/cmdline.
absl::StatusOr<std::shared_ptr<UniqueFd>> OptionsFile(const Options& options) {
  std::string text;
  for (const auto& option : options) text.append(option).push_back('\0');
  auto file = std::make_shared<UniqueFd>(memfd_create("options", MFD_CLOEXEC));
  if (write(file->get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return absl::ErrnoToStatus(errno, "cannot write sandbox options");
  }
  lseek(file->get(), 0, SEEK_SET);
  return file;
}

// As root: bubblewrap enters a namespace of ours as root and the program continues as nobody. bubblewrap leaves the
// namespace's descriptor open, so the shell closes it.
absl::StatusOr<std::vector<std::string>> EnterAsNobody(Command& wrapped, Options& options) {
  ASSIGN_OR_RETURN(auto user, sandbox_internal::MakeUserNamespace());
  std::string fd = HandOver(wrapped, std::move(user));
  if (fd.size() > 1) return absl::InvalidArgumentError("sandbox: the command uses every descriptor from 3 to 9");
  Append(options, {"--userns", fd, "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"});
  std::string id = absl::StrCat(kSandboxId);
  return std::vector<std::string>{"/bin/sh",
                                  "-c",
                                  absl::StrCat("exec ", fd, "<&-; exec \"$0\" \"$@\""),
                                  FoundPrograms().setpriv,
                                  "--reuid",
                                  id,
                                  "--regid",
                                  id,
                                  "--clear-groups",
                                  "--bounding-set=-all",
                                  "--inh-caps=-all",
                                  "--no-new-privs",
                                  "--"};
}

// bubblewrap dies with us, but its clone would not in the moments before it has asked for that, and then waits for
// ever. A shell that leads the group ends all of it. A shell's background has SIGINT and SIGQUIT ignored and no input.
// SIGTERM is ignored by all of them: a job queue sends it to every process of a job, and who is asked to end is our
// owner, who ends us.
absl::StatusOr<std::vector<std::string>> EndTheGroupWithUs(Command& wrapped) {
  const int input = FreeNumber(wrapped);
  if (input > 9) return absl::InvalidArgumentError("sandbox: the command uses every descriptor from 3 to 9");
  wrapped.signal_at_our_death = SIGUSR1;
  return std::vector<std::string>{
      "/bin/sh", "-c",
      absl::StrCat("trap 'kill -9 0' USR1; trap '' TERM; exec ", input,
                   "<&0; /usr/bin/env --default-signal=INT,QUIT \"$0\" \"$@\" <&", input, " ", input, "<&- & wait $!")};
}

absl::StatusOr<Command> Wrap(const Command& command, const SandboxPolicy& policy) {
  Command wrapped = command;
  wrapped.working_directory = "/";
  ASSIGN_OR_RETURN(Options options, MakeOptions(command, policy));
  std::vector<std::string> inner;
  if (IsRoot()) {
    ASSIGN_OR_RETURN(inner, EnterAsNobody(wrapped, options));
  } else {
    Append(options, {"--unshare-user"});
  }
  ASSIGN_OR_RETURN(auto filter, sandbox_internal::MakeSeccompFilter({.allow_personality = policy.allow_personality}));
  Append(options, {"--seccomp", HandOver(wrapped, std::move(filter))});
  ASSIGN_OR_RETURN(auto file, OptionsFile(options));
  const std::string options_fd = HandOver(wrapped, std::move(file));
  ASSIGN_OR_RETURN(wrapped.argv, EndTheGroupWithUs(wrapped));
  wrapped.argv.insert(wrapped.argv.end(), {FoundPrograms().bubblewrap, "--args", options_fd, "--"});
  std::vector<std::string> limited = LimitedArgv(command, policy);
  wrapped.argv.insert(wrapped.argv.end(), inner.begin(), inner.end());
  wrapped.argv.insert(wrapped.argv.end(), limited.begin(), limited.end());
  return wrapped;
}

// ---- probe ----

std::string MissingPrograms(const Programs& programs) {
  if (programs.bubblewrap.empty()) {
    return "bubblewrap is not installed (apt-get install bubblewrap), and there is no bwrap beside this program";
  }
  if (programs.prlimit.empty() || programs.setpriv.empty()) {
    return "prlimit or setpriv is not in /usr/bin (apt-get install util-linux)";
  }
  return "";
}

std::string ProbeFailure() {
  Command command;
  command.argv = {"/usr/bin/true"};
  // The answer is everybody's, not only this thread's.
  const ThreadStop nobody_stops(nullptr);
  auto wrapped = Wrap(command, SandboxPolicy());
  auto report = wrapped.ok() ? RunToCompletion(*wrapped, kProbeTimeout) : wrapped.status();
  if (!report.ok()) return std::string(report.status().message());
  if (report->Succeeded()) return "";
  return absl::StrCat(DescribeExit(*report), ": ", absl::StripAsciiWhitespace(report->stderr_text));
}

SandboxSupport Probe() {
  SandboxSupport support;
  support.bubblewrap_path = FoundPrograms().bubblewrap;
  support.bubblewrap = !support.bubblewrap_path.empty();
  support.seccomp = access("/proc/sys/kernel/seccomp/actions_avail", R_OK) == 0;
  support.landlock = sandbox_internal::LandlockVersion();
  support.missing = MissingPrograms(FoundPrograms());
  support.remedy = support.missing.empty() ? "" : "apt-get install bubblewrap util-linux";
  if (!support.missing.empty()) return support;
  const std::string failure = ProbeFailure();
  support.user_namespaces = failure.empty();
  if (failure.empty()) return support;
  support.missing = absl::StrCat("a sandbox does not start here: user namespaces are denied (", failure, ")");
  support.remedy = sandbox_internal::RemedyFor("/proc/sys", IsRoot(), support.bubblewrap_path);
  return support;
}

}  // namespace

void OfferBubblewrap(std::function<std::string()> find) { OfferedBubblewrap() = std::move(find); }

const SandboxSupport& ProbeSandbox() {
  static const SandboxSupport* support = new SandboxSupport(Probe());
  return *support;
}

absl::StatusOr<Command> WrapInSandbox(const Command& command, const SandboxPolicy& policy) {
  if (command.argv.empty()) return absl::InvalidArgumentError("a command needs a program");
  const SandboxSupport& support = ProbeSandbox();
  if (!support.Complete()) return absl::FailedPreconditionError(support.missing);
  return Wrap(command, policy);
}

absl::Status SandboxFailure(const ExitReport& report) {
  constexpr absl::string_view kSpeakers[] = {"bwrap: ", "prlimit: ", "setpriv: ", "/bin/sh: "};
  if (report.kind != ExitReport::Kind::kExited || report.exit_code == 0) return absl::OkStatus();
  absl::string_view text = report.stderr_text;
  const absl::string_view first = text.substr(0, text.find('\n'));
  const bool ours = std::any_of(std::begin(kSpeakers), std::end(kSpeakers),
                                [&](absl::string_view speaker) { return absl::StartsWith(first, speaker); });
  if (!ours) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("a sandbox did not start (", first, "); it may start the next time"));
}

absl::StatusOr<Command> WrapWithoutSandbox(const Command& command, const SandboxPolicy& policy,
                                           AllowUnsandboxed token) {
  if (token.reason.empty()) return absl::InvalidArgumentError("going without a sandbox needs a reason");
  Command wrapped = command;
  wrapped.no_new_privileges = true;
  auto limit = [&](int resource, uint64_t value) {
    if (value != 0) wrapped.rlimits.emplace_back(resource, value);
  };
  wrapped.rlimits.emplace_back(RLIMIT_CORE, 0);
  limit(RLIMIT_AS, policy.address_space_bytes);
  limit(RLIMIT_FSIZE, policy.file_bytes);
  limit(RLIMIT_NOFILE, policy.open_files);
  limit(RLIMIT_CPU, CpuSeconds(policy));
  if (token.landlock) RETURN_IF_ERROR(sandbox_internal::HoldInPlace(policy, wrapped));
  return wrapped;
}

}  // namespace sassay
