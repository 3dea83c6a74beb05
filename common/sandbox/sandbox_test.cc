#include "common/sandbox/sandbox.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "common/base/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::Duration kLong = absl::Seconds(60);

class Sandbox : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
    auto made = TemporaryDirectory::Create("sandbox-test");
    ASSERT_TRUE(made.ok());
    directory_.emplace(*std::move(made));
    shared_ = directory_->path() / "shared";
    fs::create_directory(shared_);
  }

  static Command Shell(const std::string& script) {
    Command command;
    command.argv = {"/bin/bash", "-c", script};
    command.environment = {{"PATH", "/usr/bin:/bin"}};
    return command;
  }

  static ExitReport Inside(const Command& command, const SandboxPolicy& policy = {}, absl::Duration timeout = kLong) {
    auto wrapped = WrapInSandbox(command, policy);
    EXPECT_TRUE(wrapped.ok()) << wrapped.status();
    if (!wrapped.ok()) return {};
    auto report = RunToCompletion(*wrapped, timeout);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : ExitReport();
  }

  static ExitReport Inside(const std::string& script, const SandboxPolicy& policy = {},
                           absl::Duration timeout = kLong) {
    return Inside(Shell(script), policy, timeout);
  }

  // Shared read-write at /work.
  SandboxPolicy Writable() const {
    SandboxPolicy policy;
    policy.writable = {{shared_.string(), "/work"}};
    return policy;
  }

  std::optional<TemporaryDirectory> directory_;
  fs::path shared_;
};

TEST_F(Sandbox, RunsAProgramAndReportsItsStatus) {
  ExitReport report = Inside("echo hello; exit 7");
  EXPECT_EQ(report.stdout_text, "hello\n");
  EXPECT_EQ(report.exit_code, 7);
}

TEST_F(Sandbox, HidesFilesOfTheHost) {
  std::ofstream(shared_ / "secret") << "secret";
  for (std::string path : {std::string("/etc/shadow"), std::string("/etc/passwd"), std::string("/root"),
                           std::string("/home"), (shared_ / "secret").string(), std::string("/work")}) {
    EXPECT_NE(Inside("ls " + path).exit_code, 0) << path;
  }
  EXPECT_THAT(Inside("cat /proc/1/cmdline /proc/1/environ /proc/mounts 2>/dev/null | tr '\\0' ' '").stdout_text,
              Not(HasSubstr("sandbox-test")));
}

TEST_F(Sandbox, ShowsTheLoadersCache) {
  EXPECT_EQ(Inside("cmp /etc/ld.so.cache /etc/ld.so.cache && ls /etc").stdout_text, "alternatives\nld.so.cache\n");
}

TEST_F(Sandbox, RunsWithoutCapabilitiesAndNotAsRoot) {
  ExitReport report = Inside("grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status; echo uid=$(id -u) pid=$$");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_THAT(report.stdout_text, HasSubstr(absl::StrCat(set, ":\t0000000000000000")));
  }
  EXPECT_THAT(report.stdout_text, HasSubstr("NoNewPrivs:\t1"));
  EXPECT_THAT(report.stdout_text, HasSubstr("Seccomp:\t2"));
  EXPECT_THAT(report.stdout_text, Not(HasSubstr("uid=0 ")));
}

TEST_F(Sandbox, HasNamespacesOfItsOwn) {
  for (const char* kind : {"user", "pid", "mnt", "net", "ipc", "uts"}) {
    std::string inside = Inside(absl::StrCat("readlink /proc/self/ns/", kind)).stdout_text;
    std::string outside = fs::read_symlink(absl::StrCat("/proc/self/ns/", kind)).string() + "\n";
    EXPECT_THAT(inside, HasSubstr(kind));
    EXPECT_NE(inside, outside) << kind;
  }
}

TEST_F(Sandbox, WritesOnlyWhereThePolicyAllows) {
  ExitReport report = Inside(
      "for d in / /usr /usr/bin /etc /dev /proc /lib; do touch $d/x 2>/dev/null && echo wrote $d; done; "
      "touch /work/made /tmp/made /dev/shm/made && echo fine",
      Writable());
  EXPECT_EQ(report.stdout_text, "fine\n") << report.stderr_text;
  EXPECT_TRUE(fs::exists(shared_ / "made"));
  EXPECT_FALSE(fs::exists("/tmp/made"));
}

TEST_F(Sandbox, MountsReadOnlyWhatThePolicyNames) {
  std::ofstream(shared_ / "data") << "42";
  SandboxPolicy policy;
  policy.read_only = {{shared_.string(), "/in/data"}};
  ExitReport report = Inside("cat /in/data/data; touch /in/data/x && echo wrote", policy);
  EXPECT_EQ(report.stdout_text, "42") << report.stderr_text;
}

TEST_F(Sandbox, CoversWhatThePolicyHides) {
  SandboxPolicy policy;
  policy.hidden = {"/usr/include", "/usr/no-such-folder"};
  EXPECT_EQ(Inside("ls -A /usr/include; touch /usr/include/x && echo wrote", policy).stdout_text, "");
}

TEST_F(Sandbox, NamesAPathThatIsMissingOrClosed) {
  SandboxPolicy policy;
  policy.read_only = {{"/no/such/path", "/in"}};
  auto wrapped = WrapInSandbox(Shell("true"), policy);
  EXPECT_EQ(wrapped.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(wrapped.status().message()), HasSubstr("/no/such/path"));
  if (geteuid() != 0) return;
  policy.read_only = {{directory_->path().string(), "/in"}};
  wrapped = WrapInSandbox(Shell("true"), policy);
  EXPECT_EQ(wrapped.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(wrapped.status().message()), HasSubstr("chmod o+rX"));
}

TEST_F(Sandbox, HasNoNetworkButItsOwnLoopback) {
  UniqueFd server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(server.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(server.get(), 1), 0);
  ASSERT_EQ(getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::string connect = absl::StrCat("exec 3<>/dev/tcp/127.0.0.1/", ntohs(address.sin_port));
  EXPECT_THAT(Inside(connect).stderr_text, HasSubstr("Connection refused"));
  EXPECT_THAT(Inside("exec 3<>/dev/tcp/192.0.2.1/80").stderr_text, HasSubstr("unreachable"));
  EXPECT_EQ(Inside("grep -c : /proc/net/dev").stdout_text, "1\n");
}

TEST_F(Sandbox, KeepsOnlyTheDescriptorsHandedOver) {
  UniqueFd leak(open("/dev/zero", O_RDONLY)), wanted(open("/dev/full", O_WRONLY));
  Command command = Shell("for i in {0..1000}; do [ -e /proc/$$/fd/$i ] && echo -n $i,; done");
  command.inherit_fds = {{wanted.get(), 3}, {wanted.get(), 9}};
  // 255 is bash's own.
  EXPECT_THAT(Inside(command).stdout_text, ::testing::AnyOf("0,1,2,3,9,", "0,1,2,3,9,255,"));
}

TEST_F(Sandbox, UsesTheWorkingDirectoryAndEnvironmentOfTheCommand) {
  Command command = Shell("pwd; env | grep -v -E '^(_|PWD|SHLVL|OLDPWD)='");
  command.environment["A"] = "1";
  command.working_directory = "/usr/lib";
  EXPECT_EQ(Inside(command).stdout_text, "/usr/lib\nA=1\nPATH=/usr/bin:/bin\n");
}

TEST_F(Sandbox, RefusesDangerousSystemCalls) {
  ExitReport report = Inside(
      "unshare -U true; unshare -m true; mount -t tmpfs x /tmp; "
      "/usr/bin/python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True)\n"
      "for n in (101, 135, 165, 248, 250, 298, 310, 321, 323, 425, 435, 438): "
      "print(n, l.syscall(n, 0, 0, 0, 0, 0), ctypes.get_errno())\n"
      "import socket\n"
      "for f in (16, 17, 38, 40):\n"
      "  try: socket.socket(f, socket.SOCK_RAW if f == 17 else socket.SOCK_STREAM if f != 38 else "
      "socket.SOCK_SEQPACKET); print(f, \"open\")\n"
      "  except OSError as e: print(f, e.errno)'");
  for (const char* line :
       {"101 -1 1\n", "135 -1 1\n", "165 -1 1\n", "248 -1 1\n", "250 -1 1\n", "298 -1 1\n", "310 -1 1\n", "321 -1 1\n",
        "323 -1 1\n", "425 -1 1\n", "435 -1 38\n", "438 -1 1\n", "17 97\n", "38 97\n", "40 97\n"}) {
    EXPECT_THAT(report.stdout_text, HasSubstr(line));
  }
  EXPECT_THAT(report.stderr_text, HasSubstr("unshare failed: Operation not permitted"));
}

TEST_F(Sandbox, AllowsPersonalityWhereThePolicySaysSo) {
  SandboxPolicy policy;
  EXPECT_NE(Inside("setarch -R true", policy).exit_code, 0);
  policy.allow_personality = true;
  EXPECT_EQ(Inside("setarch -R true", policy).exit_code, 0);
  // Not what else debuggers do: 101 is ptrace, 0 is PTRACE_TRACEME.
  const char* trace = "/usr/bin/python3 -c 'import ctypes; print(ctypes.CDLL(None).syscall(101, 0, 0, 0, 0))'";
  EXPECT_EQ(Inside(trace, policy).stdout_text, "-1\n");
}

TEST_F(Sandbox, BoundsMemoryOfAProcess) {
  SandboxPolicy policy;
  policy.address_space_bytes = 512 << 20;
  EXPECT_EQ(Inside("/usr/bin/python3 -c 'x = bytearray(100 << 20); print(len(x) >> 20)'", policy).stdout_text, "100\n");
  EXPECT_THAT(Inside("/usr/bin/python3 -c 'x = bytearray(600 << 20)'", policy).stderr_text, HasSubstr("MemoryError"));
}

TEST_F(Sandbox, BoundsFilesAndTmp) {
  SandboxPolicy policy = Writable();
  policy.file_bytes = 1 << 20;
  policy.tmp_bytes = 1 << 20;
  ExitReport report = Inside("head -c 2000000 /dev/zero > /work/big", policy);
  EXPECT_FALSE(report.Succeeded());
  EXPECT_LE(fs::file_size(shared_ / "big"), 1u << 20);
  EXPECT_THAT(Inside("for i in 1 2 3; do head -c 500000 /dev/zero > /tmp/$i; done", policy).stderr_text,
              HasSubstr("No space left"));
}

TEST_F(Sandbox, BoundsProcessorTime) {
  SandboxPolicy policy;
  policy.cpu_time = absl::Seconds(1);
  ExitReport report = Inside("exec bash -c 'while :; do :; done'", policy);
  EXPECT_FALSE(report.Succeeded());
  EXPECT_NE(report.kind, ExitReport::Kind::kTimedOut);
}

TEST_F(Sandbox, BoundsOpenFiles) {
  SandboxPolicy policy;
  policy.open_files = 20;
  EXPECT_EQ(Inside("ulimit -n; ulimit -c", policy).stdout_text, "20\n0\n");
}

TEST_F(Sandbox, ContainsAForkBomb) {
  SandboxPolicy policy = Writable();
  policy.processes = 20;
  // Every process that was born leaves a file; nothing ends by itself.
  std::string bomb = "b() { : > /work/$BASHPID; b & b & sleep 1000; }; b 2>/dev/null";
  auto wrapped = WrapInSandbox(Shell(bomb), policy);
  ASSERT_TRUE(wrapped.ok());
  auto report = RunToCompletion(*wrapped, absl::Seconds(3), 4096);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->kind, ExitReport::Kind::kTimedOut);
  int born = std::distance(fs::directory_iterator(shared_), fs::directory_iterator());
  EXPECT_GE(born, 5);
  EXPECT_LE(born, 21);
}

TEST_F(Sandbox, LimitsProcessesExactly) {
  SandboxPolicy policy;
  policy.processes = 8;
  ExitReport report = Inside(
      "exec /usr/bin/python3 -c 'import os, signal\n"
      "n = 1\n"
      "try:\n"
      "  while n < 100:\n"
      "    if os.fork() == 0: signal.pause()\n"
      "    n += 1\n"
      "except OSError: pass\n"
      "print(n)'",
      policy);
  EXPECT_EQ(report.stdout_text, "8\n");
}

bool EveryHolderGone(int reader) {
  pollfd entry{reader, 0, 0};
  return poll(&entry, 1, 30000) == 1 && (entry.revents & POLLHUP) != 0;
}

TEST_F(Sandbox, DiesWithEveryDescendantWhenKilled) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  Command command = Shell(
      "trap '' HUP TERM; setsid sleep 1000 & (setsid bash -c 'trap \"\" HUP; sleep 1000 & sleep 1000') & echo x >&7; "
      "sleep 1000");
  command.inherit_fds = {{writer.get(), 7}};
  auto wrapped = WrapInSandbox(command, {});
  ASSERT_TRUE(wrapped.ok());
  {
    auto child = Subprocess::Start(*wrapped);
    ASSERT_TRUE(child.ok());
    char byte;
    ASSERT_EQ(read(reader.get(), &byte, 1), 1);
  }
  writer.reset();
  EXPECT_TRUE(EveryHolderGone(reader.get()));
}

TEST_F(Sandbox, DiesWithEveryDescendantWhenItsOwnerIsKilled) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]), writer(ends[1]);
  Command command = Shell("setsid sleep 1000 & echo x >&7; sleep 1000");
  command.inherit_fds = {{writer.get(), 7}};
  auto wrapped = WrapInSandbox(command, {});
  ASSERT_TRUE(wrapped.ok());
  pid_t owner = fork();
  if (owner == 0) {
    auto child = Subprocess::Start(*wrapped);
    pause();
  }
  char byte;
  ASSERT_EQ(read(reader.get(), &byte, 1), 1);
  kill(owner, SIGKILL);
  writer.reset();
  EXPECT_TRUE(EveryHolderGone(reader.get()));
}

TEST_F(Sandbox, LivesOnWhenEachOfItsProcessesIsAskedToEnd) {
  int answers[2], questions[2];
  ASSERT_EQ(pipe2(answers, O_CLOEXEC), 0);
  ASSERT_EQ(pipe2(questions, O_CLOEXEC), 0);
  UniqueFd reader(answers[0]), answer(answers[1]), question(questions[0]), writer(questions[1]);
  Command command = Shell("echo x >&7; read -r -n 1 -u 8; echo y >&7");
  command.inherit_fds = {{answer.get(), 7}, {question.get(), 8}};
  auto wrapped = WrapInSandbox(command, {});
  ASSERT_TRUE(wrapped.ok());
  auto child = Subprocess::Start(*wrapped);
  ASSERT_TRUE(child.ok());
  answer.reset();
  char bytes[2];
  ASSERT_EQ(read(reader.get(), bytes, 2), 2);
  ASSERT_EQ(kill(-child->pid(), SIGTERM), 0);
  ASSERT_EQ(write(writer.get(), "?", 1), 1);
  EXPECT_EQ(read(reader.get(), bytes, 2), 2);
  EXPECT_EQ(bytes[0], 'y');
  const auto report = child->Wait(absl::Now() + kLong);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->Succeeded()) << DescribeExit(*report);
}

TEST_F(Sandbox, CannotSignalTheHost) {
  ExitReport report = Inside(absl::StrCat("kill -0 ", getpid(), " 2>&1; kill -KILL -1 2>&1; echo alive"));
  EXPECT_EQ(kill(getpid(), 0), 0);
  EXPECT_EQ(Inside("ls /proc | grep -c '^[0-9]'").Succeeded(), true);
}

TEST_F(Sandbox, SaysThatAProgramIsMissing) {
  Command command;
  command.argv = {"/no/such/program"};
  ExitReport report = Inside(command);
  EXPECT_EQ(report.exit_code, 127);
  EXPECT_THAT(report.stderr_text, HasSubstr("/no/such/program"));
}

TEST(WithoutSandbox, NeedsAReasonAndAppliesLimits) {
  Command command;
  command.argv = {"/bin/sh", "-c", "ulimit -n; grep NoNewPrivs /proc/self/status"};
  SandboxPolicy policy;
  policy.open_files = 33;
  EXPECT_EQ(WrapWithoutSandbox(command, policy, {""}).status().code(), absl::StatusCode::kInvalidArgument);
  auto wrapped = WrapWithoutSandbox(command, policy, {"test"});
  ASSERT_TRUE(wrapped.ok());
  EXPECT_EQ(RunToCompletion(*wrapped, kLong)->stdout_text, "33\nNoNewPrivs:\t1\n");
}

TEST_F(Sandbox, RelativePathsAreRefused) {
  SandboxPolicy policy;
  policy.read_only = {{"usr", "/mine"}};
  EXPECT_EQ(WrapInSandbox(Shell("true"), policy).status().code(), absl::StatusCode::kInvalidArgument);
  policy.read_only.clear();
  policy.writable = {{"tmp", "/mine"}};
  EXPECT_EQ(WrapInSandbox(Shell("true"), policy).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SandboxFailureTest, IsToldFromAProgramsOwnFailure) {
  ExitReport report;
  report.exit_code = 1;
  report.stderr_text = "bwrap: Creating new namespace failed: Resource temporarily unavailable\nmore";
  EXPECT_EQ(SandboxFailure(report).code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(SandboxFailure(report).message()), HasSubstr("Creating new namespace failed"));
  report.stderr_text = "ptxas fatal: no\nbwrap: quoted";
  EXPECT_TRUE(SandboxFailure(report).ok());
  report.exit_code = 0;
  report.stderr_text = "bwrap: a warning";
  EXPECT_TRUE(SandboxFailure(report).ok());
  report.kind = ExitReport::Kind::kTimedOut;
  EXPECT_TRUE(SandboxFailure(report).ok());
}

// Under root the other tests ran as root; all of them must hold for an ordinary user too.
TEST(OrdinaryUser, HasTheSameSandbox) {
  if (geteuid() != 0) GTEST_SKIP() << "the other tests already ran as an ordinary user";
  if (!ProbeSandbox().Complete()) GTEST_SKIP() << ProbeSandbox().missing;
  Command command;
  command.argv = {"/usr/bin/setpriv",
                  "--reuid",
                  "12345",
                  "--regid",
                  "12345",
                  "--clear-groups",
                  fs::read_symlink("/proc/self/exe").string(),
                  "--gtest_filter=Sandbox.*"};
  command.environment = {{"PATH", "/usr/bin:/bin"}};
  auto report = RunToCompletion(command, absl::Seconds(100));
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->Succeeded()) << DescribeExit(*report) << report->stdout_text << report->stderr_text;
  EXPECT_THAT(report->stdout_text, Not(HasSubstr("SKIPPED")));
}

}  // namespace
}  // namespace sassay
