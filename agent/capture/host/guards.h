// What stands between hostile host code and the machine inside the candidate's own process: signals become records, and
// starting processes or opening sockets is refused by name. The sandbox outside holds even if these are circumvented.
#ifndef SASSAY_AGENT_CAPTURE_HOST_GUARDS_H_
#define SASSAY_AGENT_CAPTURE_HOST_GUARDS_H_

namespace sassay::capture {

// SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT are recorded with the candidate's source position, without the heap.
void InstallCrashHandlers();
// fork, clone (but threads), exec, sockets and ptrace fail with EPERM and leave a note; who insists, or signals another
// process, is refused. Returns what is missing if the kernel has no seccomp.
const char* ForbidProcesses();
// Fills memory that malloc hands out with `byte` (needs glibc.malloc.tcache_count=0 in GLIBC_TUNABLES).
void PaintHeap(unsigned char byte);

}  // namespace sassay::capture

#endif  // SASSAY_AGENT_CAPTURE_HOST_GUARDS_H_
