// A misbehaving runner: tries what a process beside a GPU must not be able to do, and says for each attempt whether it
// came through. Started by runner_sandbox_gpu_test in the place of profiler-runner, under the same policy.
//
//   sandbox_probe HOST_PORT HOST_FILE [NAME…]     a port on which the host listens, a file of the host; only these
//   attempts
//
// Prints "NAME allowed" or "NAME refused (reason)" for each, and "gpu-nodes N". Outside a sandbox some of the attempts
// do harm (the parent is traced and stops): name the others there.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kNvidiaMajor = 195;

// `result` is what a system call gave: negative is refused, with errno.
void Tell(const char* attempt, long result) {
  if (result >= 0) {
    std::printf("%s allowed\n", attempt);
  } else {
    std::printf("%s refused (%s)\n", attempt, std::strerror(errno));
  }
}

int Open(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd;
}

int Connect(const char* address, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address, &to.sin_addr);
  return connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to));
}

bool IsGpuNode(const char* name) {
  return std::strncmp(name, "nvidia", 6) == 0 && std::isdigit(static_cast<unsigned char>(name[6])) != 0;
}

// How many GPUs' nodes can be opened.
int GpuNodes() {
  DIR* directory = opendir("/dev");
  int count = 0;
  while (const dirent* entry = directory == nullptr ? nullptr : readdir(directory)) {
    count += IsGpuNode(entry->d_name) && Open(std::string("/dev/") + entry->d_name, O_RDWR) >= 0;
  }
  if (directory != nullptr) closedir(directory);
  return count;
}

// A node of any GPU, made by hand.
int MakeGpuNode(int minor) {
  const char* path = "/tmp/nvidia";
  unlink(path);
  if (mknod(path, S_IFCHR | 0666, makedev(kNvidiaMajor, static_cast<unsigned>(minor))) != 0) return -1;
  return Open(path, O_RDWR);
}

int ReadAnother() {
  char byte;
  iovec ours{&byte, 1}, theirs{&byte, 1};
  return static_cast<int>(process_vm_readv(1, &ours, 1, &theirs, 1, 0));
}

int Perf() {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

int RaiseProcessLimit() {
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  return setrlimit(RLIMIT_NPROC, &unlimited);
}

struct Host {
  int port;
  const char* file;
};

struct Attempt {
  const char* name;
  long (*run)(const Host& host);
};

constexpr Attempt kAttempts[] = {
    {"connect-to-host", [](const Host& host) -> long { return Connect("127.0.0.1", host.port); }},
    {"connect-to-network", [](const Host& host) -> long { return Connect("192.0.2.1", 80); }},
    {"raw-socket", [](const Host& host) -> long { return socket(AF_PACKET, SOCK_RAW, 0); }},
    {"vsock", [](const Host& host) -> long { return socket(AF_VSOCK, SOCK_STREAM, 0); }},
    {"host-file", [](const Host& host) -> long { return Open(host.file, O_RDONLY); }},
    {"shadow", [](const Host& host) -> long { return Open("/etc/shadow", O_RDONLY); }},
    {"passwd", [](const Host& host) -> long { return Open("/etc/passwd", O_RDONLY); }},
    {"root-home", [](const Host& host) -> long { return Open("/root", O_RDONLY | O_DIRECTORY); }},
    {"homes", [](const Host& host) -> long { return Open("/home", O_RDONLY | O_DIRECTORY); }},
    {"write-usr", [](const Host& host) -> long { return Open("/usr/lib/x", O_WRONLY | O_CREAT); }},
    {"write-root", [](const Host& host) -> long { return Open("/x", O_WRONLY | O_CREAT); }},
    {"write-dev", [](const Host& host) -> long { return Open("/dev/x", O_WRONLY | O_CREAT); }},
    {"write-private-tmp", [](const Host& host) -> long { return Open("/tmp", O_TMPFILE | O_WRONLY); }},
    {"write-own-program", [](const Host& host) -> long { return Open("/proc/self/exe", O_WRONLY); }},
    {"memory-device", [](const Host& host) -> long { return Open("/dev/mem", O_RDONLY); }},
    {"make-gpu-node-0", [](const Host& host) -> long { return MakeGpuNode(0); }},
    {"make-gpu-node-1", [](const Host& host) -> long { return MakeGpuNode(1); }},
    {"gpu-capabilities", [](const Host& host) -> long { return Open("/dev/nvidia-caps/nvidia-cap1", O_RDONLY); }},
    {"ptrace-parent", [](const Host& host) -> long { return ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr); }},
    {"ptrace-me", [](const Host& host) -> long { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
    {"read-another-process", [](const Host& host) -> long { return ReadAnother(); }},
    {"become-root", [](const Host& host) -> long { return setuid(0); }},
    {"new-user-namespace", [](const Host& host) -> long { return unshare(CLONE_NEWUSER); }},
    {"mount", [](const Host& host) -> long { return mount("none", "/tmp", "tmpfs", 0, nullptr); }},
    {"bpf", [](const Host& host) -> long { return syscall(SYS_bpf, 0, nullptr, 0); }},
    {"perf", [](const Host& host) -> long { return Perf(); }},
    {"userfaultfd", [](const Host& host) -> long { return syscall(SYS_userfaultfd, 0); }},
    {"io-uring", [](const Host& host) -> long { return syscall(SYS_io_uring_setup, 1, nullptr); }},
    {"keyring", [](const Host& host) -> long { return syscall(SYS_keyctl, 0, -3, 1, 0, 0); }},
    {"load-module", [](const Host& host) -> long { return syscall(SYS_init_module, nullptr, 0, ""); }},
    {"raise-process-limit", [](const Host& host) -> long { return RaiseProcessLimit(); }},
};

bool IsWanted(const char* name, int count, char** wanted) {
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(name, wanted[i]) == 0) return true;
  }
  return count == 0;
}

}  // namespace

#if defined(__SANITIZE_ADDRESS__)
// Looking for leaks takes ptrace, which the sandbox refuses.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const Host host{std::atoi(argv[1]), argv[2]};
  for (const Attempt& attempt : kAttempts) {
    if (IsWanted(attempt.name, argc - 3, argv + 3)) Tell(attempt.name, attempt.run(host));
  }
  std::printf("gpu-nodes %d\n", GpuNodes());
  return 0;
}
