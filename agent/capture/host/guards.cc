#include "agent/capture/host/guards.h"

#include <malloc.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <initializer_list>

#include "agent/capture/runtime/session.h"

namespace sassay::capture {
namespace {

void OnCrash(int signal_number, siginfo_t* info, void*) {
  alarm(2);  // the unwinder's tables may be what broke: if recording hangs, the signal tells enough
  SignalSafeWriter crash;
  crash.Varint(1, static_cast<uint64_t>(signal_number));
  crash.Signed(2, info->si_code);
  crash.Fixed64(3, reinterpret_cast<uint64_t>(info->si_addr));
  while (!Session::Get().EmitFromHandler(kCrash, crash)) sched_yield();
  Session::Get().Leave(0);
}

constexpr char kSignalOthers[] = "send a signal to another process";

const char* ForbiddenName(int number) {
  switch (number) {
    case SYS_execve:
    case SYS_execveat:
      return "execute another program";
    case SYS_socket:
      return "open a network socket";
    case SYS_ptrace:
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
      return "look into another process";
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
    case SYS_pidfd_send_signal:
      return kSignalOthers;
    default:
      return "start a process (fork, clone, system or popen)";
  }
}

size_t JoinText(std::initializer_list<const char*> parts, char (&out)[256]) {
  size_t size = 0;
  for (const char* part : parts) {
    for (; *part != '\0' && size < sizeof out; ++part) out[size++] = *part;
  }
  return size;
}

// The result of the system call that was trapped.
void SetResult(void* context, long result) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  registers.gregs[REG_RAX] = result;
#else
  registers.regs[0] = static_cast<uint64_t>(result);
#endif
}

// Records the attempt; false if another thread writes just now. Runs where malloc's locks may be held: glibc's fork
// takes them before its system call.
bool ReportForbidden(const char* what, bool refuse) {
  const char* rest = !refuse                 ? ", which the capture sandbox does not allow"
                     : what == kSignalOthers ? "; run() may only call the CUDA runtime"
                                             : " again and again; run() may only call the CUDA runtime";
  char message[256];
  const size_t size = JoinText({"host code tried to ", what, rest}, message);
  SignalSafeWriter finding;
  finding.Varint(1, refuse ? static_cast<uint64_t>(FindingCode::kHostLimit) : 0);
  finding.Bytes(2, message, size);
  finding.Varint(4, refuse ? 0 : 1);  // a note
  return Session::Get().EmitFromHandler(kFinding, finding);
}

// A stray system("…") fails as it would on any locked-down machine; a fork bomb is refused, and so is at once who
// reaches for the processes around it.
void OnForbiddenCall(int, siginfo_t* info, void* context) {
  static std::atomic<int> attempts{0};
  static std::atomic<bool> noted{false};
  const char* what = ForbiddenName(info->si_syscall);
  const bool refuse = ++attempts > 16 || what == kSignalOthers;
  if ((refuse || !noted) && ReportForbidden(what, refuse)) {
    if (refuse) Session::Get().Leave(0);
    noted = true;
  }
  SetResult(context, -EPERM);
}

void Handle(int signal_number, void (*handler)(int, siginfo_t*, void*), int flags) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | flags;
  sigaction(signal_number, &action, nullptr);
}

void UseAlternateStack() {
  constexpr size_t kBytes = 256 << 10;  // unwinding needs tens of KiB
  stack_t stack{};
  stack.ss_sp = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack.ss_size = kBytes;
  if (stack.ss_sp != MAP_FAILED) sigaltstack(&stack, nullptr);
}

}  // namespace

void InstallCrashHandlers() {
  UseAlternateStack();
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) Handle(number, OnCrash, SA_RESETHAND);
  Handle(SIGSYS, OnForbiddenCall, SA_NODEFER);
}

const char* ForbidProcesses() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return "seccomp_init failed";
  int failed = 0;
  for (int number : {SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(socket),
                     SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev)}) {
    failed |= seccomp_rule_add(filter, SCMP_ACT_TRAP, number, 0);
  }
  // abort() and raise() signal their own process. tkill names a thread, whose process a filter cannot know.
  const auto self = static_cast<scmp_datum_t>(getpid());
  for (int number : {SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo)}) {
    failed |= seccomp_rule_add(filter, SCMP_ACT_TRAP, number, 1, SCMP_A0(SCMP_CMP_NE, self, 0));
  }
  for (int number : {SCMP_SYS(tkill), SCMP_SYS(pidfd_send_signal)}) {
    failed |= seccomp_rule_add(filter, SCMP_ACT_TRAP, number, 0);
  }
  // Who left the process group would outlive its end; other processes' limits are none of the candidate's business.
  // Files in memory are bounded one by one, but not in sum.
  for (int number : {SCMP_SYS(setpgid), SCMP_SYS(setsid), SCMP_SYS(memfd_create)}) {
    failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
  }
  failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_NE, 0, 0));
  // posix_spawn (and so system and popen) blocks all signals around its vfork-like clone: a trap would kill there.
  failed |= seccomp_rule_add(filter, SCMP_ACT_TRAP, SCMP_SYS(clone), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_VFORK, 0));
  failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_VFORK, CLONE_VFORK));
  // Its flags lie in memory, where a filter cannot see them; glibc falls back to clone.
  failed |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  failed |= seccomp_load(filter);
  seccomp_release(filter);
  return failed != 0 ? "the seccomp filter could not be loaded" : nullptr;
}

// malloc fills what it hands out with the complement of M_PERTURB's low byte, and does nothing for 0: 0x100 gives 0xFF.
void PaintHeap(unsigned char byte) { mallopt(M_PERTURB, byte == 0xFF ? 0x100 : byte ^ 0xFF); }

}  // namespace sassay::capture
