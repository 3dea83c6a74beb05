#include "common/sandbox/seccomp_filter.h"

#include <linux/sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"

namespace sassay::sandbox_internal {
namespace {

constexpr const char* kRefused[] = {
    // other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise",
    // mounts, namespaces, handles past permissions
    "mount", "umount", "umount2", "pivot_root", "chroot", "setns", "unshare", "open_tree", "move_mount", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", "name_to_handle_at", "open_by_handle_at",
    // the kernel and the machine
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff",
    "acct", "quotactl", "quotactl_fd", "syslog", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
    "sethostname", "setdomainname", "iopl", "ioperm", "vhangup", "modify_ldt", "lookup_dcookie", "nfsservctl", "uselib",
    "ustat", "sysfs", "_sysctl",
    // subsystems nobody here needs
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter",
    "io_uring_register", "fanotify_init", "fanotify_mark"};

constexpr int kAllowedFamilies[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

// What namespaces keep inside, and what Landlock does not see.
constexpr const char* kRefusedInPlace[] = {"socket",        "chmod",          "fchmod",
                                           "fchmodat",      "fchmodat2",      "chown",
                                           "fchown",        "lchown",         "fchownat",
                                           "utime",         "utimes",         "utimensat",
                                           "futimesat",     "setxattr",       "lsetxattr",
                                           "fsetxattr",     "removexattr",    "lremovexattr",
                                           "fremovexattr",  "setxattrat",     "removexattrat",
                                           "truncate",      "shmget",         "shmat",
                                           "shmctl",        "msgget",         "msgsnd",
                                           "msgrcv",        "msgctl",         "semget",
                                           "semop",         "semtimedop",     "semctl",
                                           "mq_open",       "mq_unlink",      "setpriority",
                                           "ioprio_set",    "sched_setparam", "sched_setscheduler",
                                           "sched_setattr", "migrate_pages",  "move_pages"};
constexpr const char* kSignals[] = {"kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"};

struct FilterDeleter {
  void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, FilterDeleter>;

absl::Status FromSeccomp(int result, absl::string_view what) {
  if (result == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(-result, absl::StrCat("libseccomp refused a rule for ", what));
}

// Names that this libseccomp or architecture does not know cannot be called either.
absl::Status Refuse(scmp_filter_ctx filter, const char* name, int error = EPERM) {
  int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR || number < 0) return absl::OkStatus();
  return FromSeccomp(seccomp_rule_add(filter, SCMP_ACT_ERRNO(error), number, 0), name);
}

// The call with this argument only.
absl::Status RefuseIf(scmp_filter_ctx filter, int syscall_number, const scmp_arg_cmp& argument, int error,
                      const char* name) {
  return FromSeccomp(seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(error), syscall_number, 1, &argument), name);
}

absl::Status RefuseNewNamespaces(scmp_filter_ctx filter) {
  for (uint64_t flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET}) {
    RETURN_IF_ERROR(RefuseIf(filter, SCMP_SYS(clone), {0, SCMP_CMP_MASKED_EQ, flag, flag}, EPERM, "clone"));
  }
  return Refuse(filter, "clone3", ENOSYS);
}

absl::Status RefuseSocketFamilies(scmp_filter_ctx filter) {
  for (int family = 0; family <= AF_MAX; ++family) {
    if (std::find(std::begin(kAllowedFamilies), std::end(kAllowedFamilies), family) != std::end(kAllowedFamilies)) {
      continue;
    }
    RETURN_IF_ERROR(
        RefuseIf(filter, SCMP_SYS(socket), {0, SCMP_CMP_EQ, static_cast<uint64_t>(family), 0}, EAFNOSUPPORT, "socket"));
  }
  return RefuseIf(filter, SCMP_SYS(socket), {0, SCMP_CMP_GT, AF_MAX, 0}, EAFNOSUPPORT, "socket");
}

absl::Status RefuseTerminalInput(scmp_filter_ctx filter) {
  constexpr uint64_t kTioclinux = 0x541C;
  for (uint64_t request : {uint64_t{TIOCSTI}, kTioclinux}) {
    RETURN_IF_ERROR(RefuseIf(filter, SCMP_SYS(ioctl), {1, SCMP_CMP_MASKED_EQ, 0xffffffffU, request}, EPERM, "ioctl"));
  }
  return absl::OkStatus();
}

absl::Status RefuseInPlace(scmp_filter_ctx filter, const SeccompOptions& options) {
  for (const char* name : kRefusedInPlace) RETURN_IF_ERROR(Refuse(filter, name));
  RETURN_IF_ERROR(RefuseIf(filter, SCMP_SYS(prlimit64), {0, SCMP_CMP_NE, 0, 0}, EPERM, "prlimit64"));
  if (options.allow_signals) return absl::OkStatus();
  for (const char* name : {"setsid", "setpgid"}) RETURN_IF_ERROR(Refuse(filter, name));
  if (options.signals_stay_inside) return absl::OkStatus();
  for (const char* name : kSignals) RETURN_IF_ERROR(Refuse(filter, name));
  return absl::OkStatus();
}

absl::Status AddRules(scmp_filter_ctx filter, const SeccompOptions& options) {
  for (const char* name : kRefused) RETURN_IF_ERROR(Refuse(filter, name));
  if (!options.allow_personality) RETURN_IF_ERROR(Refuse(filter, "personality"));
  RETURN_IF_ERROR(RefuseNewNamespaces(filter));
  if (options.in_place) {
    RETURN_IF_ERROR(RefuseInPlace(filter, options));
  } else {
    RETURN_IF_ERROR(RefuseSocketFamilies(filter));
  }
  return RefuseTerminalInput(filter);
}

}  // namespace

absl::StatusOr<std::shared_ptr<UniqueFd>> MakeSeccompFilter(const SeccompOptions& options) {
  Filter filter(seccomp_init(SCMP_ACT_ALLOW));
  if (filter == nullptr) return absl::ResourceExhaustedError("libseccomp has no memory for a filter");
  RETURN_IF_ERROR(AddRules(filter.get(), options));
  auto file = std::make_shared<UniqueFd>(memfd_create("seccomp", MFD_CLOEXEC));
  if (!file->valid()) return absl::ErrnoToStatus(errno, "cannot make a memory file");
  RETURN_IF_ERROR(FromSeccomp(seccomp_export_bpf(filter.get(), file->get()), "the whole filter"));
  lseek(file->get(), 0, SEEK_SET);
  return file;
}

}  // namespace sassay::sandbox_internal
