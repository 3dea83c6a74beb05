#include "common/process/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sassay {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kLong = absl::Seconds(60);

Command Shell(const std::string& script) {
  Command command;
  command.argv = {"/bin/sh", "-c", script};
  command.environment = {{"PATH", "/usr/bin:/bin"}};
  return command;
}

ExitReport RunIt(const Command& command, absl::Duration timeout = kLong, uint64_t limit = 1 << 20,
                 absl::string_view input = "") {
  auto report = RunToCompletion(command, timeout, limit, input);
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : ExitReport();
}

// Blocks until every process holding the write end of `fd` is gone.
bool AllWritersGone(int fd) {
  pollfd entry{fd, 0, 0};
  return poll(&entry, 1, 30000) == 1 && (entry.revents & POLLHUP) != 0;
}

struct LifeLine {
  UniqueFd reader;
  std::shared_ptr<UniqueFd> writer;
  LifeLine() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader.reset(ends[0]);
    writer = std::make_shared<UniqueFd>(ends[1]);
  }
};

TEST(RunToCompletion, ReportsStatusAndBothStreams) {
  ExitReport report = RunIt(Shell("echo out; echo err >&2; exit 3"));
  EXPECT_EQ(report.kind, ExitReport::Kind::kExited);
  EXPECT_EQ(report.exit_code, 3);
  EXPECT_EQ(report.stdout_text, "out\n");
  EXPECT_EQ(report.stderr_text, "err\n");
  EXPECT_FALSE(report.Succeeded());
  EXPECT_EQ(DescribeExit(report), "exited with status 3");
}

TEST(RunToCompletion, ReportsTheSignalThatEndedTheChild) {
  ExitReport report = RunIt(Shell("kill -SEGV $$"));
  EXPECT_EQ(report.kind, ExitReport::Kind::kSignaled);
  EXPECT_EQ(report.signal_number, SIGSEGV);
  EXPECT_THAT(DescribeExit(report), HasSubstr("Segmentation fault"));
}

TEST(RunToCompletion, EndsWhenAskedTo) {
  int asked = 0;
  const auto report = RunToCompletion(Shell("sleep 1000"), absl::Hours(1), 1000, "", [&] { return ++asked == 3; });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->kind, ExitReport::Kind::kTimedOut);
  EXPECT_EQ(asked, 3);
}

TEST(RunToCompletion, FeedsStandardInput) {
  std::string text(3 << 20, 'x');
  EXPECT_EQ(RunIt(Shell("wc -c"), kLong, 1 << 20, text).stdout_text, absl::StrCat(text.size(), "\n"));
  EXPECT_EQ(RunIt(Shell("wc -c")).stdout_text, "0\n");
}

TEST(RunToCompletion, KeepsAFloodWithinItsLimitAndLetsTheChildEnd) {
  ExitReport report = RunIt(Shell("head -c 50000000 /dev/zero; head -c 2000 /dev/zero >&2; exit 4"), kLong, 1000);
  EXPECT_EQ(report.exit_code, 4);
  EXPECT_EQ(report.stdout_text.size(), 1000u);
  EXPECT_EQ(report.stderr_text.size(), 1000u);
  EXPECT_TRUE(report.output_truncated);
}

TEST(RunToCompletion, EndsAnEndlessFloodAtTheDeadline) {
  ExitReport report = RunIt(Shell("cat /dev/zero"), absl::Milliseconds(200), 1000);
  EXPECT_EQ(report.kind, ExitReport::Kind::kTimedOut);
  EXPECT_EQ(report.signal_number, SIGKILL);
  EXPECT_LT(report.wall, absl::Seconds(10));
}

TEST(RunToCompletion, KillsDescendantsAtTheDeadline) {
  LifeLine life;
  Command command = Shell("trap '' TERM HUP; (trap '' TERM HUP; sleep 1000) & (sleep 1000 | sleep 1000) & sleep 1000");
  command.inherit_fds = {{life.writer->get(), 7}};
  EXPECT_EQ(RunIt(command, absl::Milliseconds(200)).kind, ExitReport::Kind::kTimedOut);
  life.writer.reset();
  EXPECT_TRUE(AllWritersGone(life.reader.get()));
}

TEST(RunToCompletion, KillsWhatTheChildLeftBehindAndDoesNotWaitForIt) {
  LifeLine life;
  Command command = Shell("sleep 1000 & echo done");
  command.inherit_fds = {{life.writer->get(), 7}};
  ExitReport report = RunIt(command);
  EXPECT_EQ(report.stdout_text, "done\n");
  EXPECT_LT(report.wall, absl::Seconds(30));
  life.writer.reset();
  EXPECT_TRUE(AllWritersGone(life.reader.get()));
}

TEST(RunToCompletion, EndsAForkBombAtTheDeadline) {
  LifeLine life;
  Command command = Shell("b() { [ $1 -eq 0 ] || { b $(($1 - 1)) & b $(($1 - 1)) & }; sleep 1000; }; b 5");
  command.inherit_fds = {{life.writer->get(), 7}};
  EXPECT_EQ(RunIt(command, absl::Milliseconds(300)).kind, ExitReport::Kind::kTimedOut);
  life.writer.reset();
  EXPECT_TRUE(AllWritersGone(life.reader.get()));
}

TEST(Start, ClosesEveryDescriptorThatWasNotHandedOver) {
  std::vector<UniqueFd> leaks;
  for (int i = 0; i < 20; ++i)
    leaks.emplace_back(open("/dev/zero", O_RDONLY));  // no O_CLOEXEC, like a careless library
  UniqueFd wanted(open("/dev/full", O_WRONLY));
  Command command = Shell("for f in /proc/$$/fd/*; do echo ${f##*/}=$(readlink $f); done");
  command.inherit_fds = {{wanted.get(), 9}};
  std::string listing = RunIt(command).stdout_text;
  EXPECT_THAT(listing, HasSubstr("0=/dev/null"));
  EXPECT_THAT(listing, HasSubstr("9=/dev/full"));
  EXPECT_THAT(listing, ::testing::Not(HasSubstr("/dev/zero")));
}

TEST(Start, RemapsDescriptorsWhoseNumbersOverlap) {
  UniqueFd zero(open("/dev/zero", O_RDONLY | O_CLOEXEC)), full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  Command command = Shell(absl::StrCat("readlink /proc/$$/fd/", zero.get(), "; readlink /proc/$$/fd/", full.get()));
  command.inherit_fds = {{zero.get(), full.get()}, {full.get(), zero.get()}};
  EXPECT_EQ(RunIt(command).stdout_text, "/dev/full\n/dev/zero\n");
}

TEST(Start, GivesTheChildOnlyTheEnvironmentOfTheCommand) {
  setenv("SASSAY_SECRET", "hunter2", 1);
  Command command;
  command.argv = {"env"};
  command.environment = {{"A", "1"}, {"B", "x y"}};
  EXPECT_EQ(RunIt(command).stdout_text, "A=1\nB=x y\n");
}

TEST(Start, UsesTheWorkingDirectory) {
  Command command = Shell("pwd");
  command.working_directory = "/usr";
  EXPECT_EQ(RunIt(command).stdout_text, "/usr\n");
}

TEST(Start, SetsLimitsAndNoNewPrivileges) {
  Command command = Shell("ulimit -n; ulimit -f; grep NoNewPrivs /proc/self/status");
  command.rlimits = {{RLIMIT_NOFILE, 17}, {RLIMIT_FSIZE, 1024}};
  command.no_new_privileges = true;
  EXPECT_EQ(RunIt(command).stdout_text, "17\n2\nNoNewPrivs:\t1\n");
}

TEST(Start, ResetsTheParentsSignalSettings) {
  signal(SIGPIPE, SIG_IGN);
  EXPECT_THAT(RunIt(Shell("grep -E 'Sig(Ign|Blk)' /proc/self/status")).stdout_text,
              HasSubstr("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000"));
  signal(SIGPIPE, SIG_DFL);
}

TEST(Start, SaysWhatIsMissing) {
  Command command;
  command.argv = {"no-such-program-here"};
  EXPECT_EQ(Subprocess::Start(command).status().code(), absl::StatusCode::kNotFound);
  command.argv = {"/no/such/program"};
  EXPECT_EQ(Subprocess::Start(command).status().code(), absl::StatusCode::kNotFound);
  command = Shell("true");
  command.working_directory = "/no/such/directory";
  auto status = Subprocess::Start(command).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/directory"));
  command = Command();
  EXPECT_EQ(Subprocess::Start(command).status().code(), absl::StatusCode::kInvalidArgument);
  command.argv = {"/etc/passwd"};
  EXPECT_EQ(Subprocess::Start(command).status().code(), absl::StatusCode::kPermissionDenied);
}

TEST(Start, RefusesArgumentsThatCannotBeHandedOver) {
  Command command = Shell("true");
  command.argv.push_back(std::string("a\0b", 3));
  EXPECT_EQ(Subprocess::Start(command).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Wait, ReturnsAtTheDeadlineAndLeavesTheChildRunning) {
  auto child = Subprocess::Start(Shell("sleep 1000"));
  ASSERT_TRUE(child.ok()) << child.status();
  EXPECT_EQ(child->Wait(absl::Now()).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(kill(child->pid(), 0), 0);
  std::thread killer([&] { child->Kill(); });
  auto report = child->Wait(absl::Now() + kLong);
  killer.join();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->signal_number, SIGKILL);
  child->Kill();
  EXPECT_EQ(child->Wait(absl::InfiniteFuture())->signal_number, SIGKILL);
}

TEST(Subprocess, DestructionKillsAndReaps) {
  pid_t pid = 0;
  {
    auto child = Subprocess::Start(Shell("sleep 1000"));
    ASSERT_TRUE(child.ok());
    pid = child->pid();
    Subprocess moved = *std::move(child);
  }
  EXPECT_EQ(kill(pid, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(Subprocess, OutlivesTheThreadThatStartedIt) {
  absl::StatusOr<Subprocess> child = absl::UnknownError("");
  LifeLine gate;
  Command command = Shell("read line <&7; exit 5");
  command.inherit_fds = {{gate.reader.get(), 7}};
  std::thread([&] { child = Subprocess::Start(command); }).join();
  ASSERT_TRUE(child.ok());
  gate.writer.reset();
  auto report = child->Wait(absl::Now() + kLong);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->kind, ExitReport::Kind::kExited);
  EXPECT_EQ(report->exit_code, 5);
}

TEST(Subprocess, DiesWithItsOwner) {
  LifeLine life;
  Command inner = Shell("exec sleep 1000");
  inner.inherit_fds = {{life.writer->get(), 7}};
  pid_t owner = fork();
  if (owner == 0) {
    auto child = Subprocess::Start(inner);
    _exit(child.ok() ? (kill(getpid(), SIGKILL), 0) : 1);
  }
  life.writer.reset();
  EXPECT_TRUE(AllWritersGone(life.reader.get()));
}

TEST(Subprocess, StartsFromManyThreadsAtOnce) {
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        std::string word = absl::StrCat("word-", t, "-", i);
        good += RunIt(Shell("echo " + word)).stdout_text == word + "\n";
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(good, 80);
}

TEST(ExitReport, MeasuresTimeAndMemory) {
  ExitReport report = RunIt(Shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
  EXPECT_GT(report.cpu, absl::ZeroDuration());
  EXPECT_GT(report.peak_resident_bytes, 100u << 10);
  EXPECT_GE(report.wall, absl::ZeroDuration());
}

TEST(RunToCompletion, KeepsTheEndOfAFloodOfErrors) {
  Command command;
  command.argv = {"/bin/sh", "-c", "yes warning | head -c 1000000 >&2; echo the reason >&2; exit 4"};
  command.environment = {{"PATH", "/usr/bin:/bin"}};
  const auto report = RunToCompletion(command, absl::Seconds(60), 1000);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->output_truncated);
  EXPECT_EQ(report->stderr_text.size(), 1000u);
  EXPECT_LE(report->stderr_tail.size(), 64u << 10);
  EXPECT_EQ(report->stderr_tail.substr(report->stderr_tail.size() - 11), "the reason\n");
}

// In a process of its own: there is no way back.
TEST(CancelEveryRunDeathTest, EndsWhatRunsAndWhatComesLater) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto cancelled = [] {
    Command command;
    command.argv = {"/bin/cat"};
    int ends[2];
    if (pipe(ends) != 0) return false;
    command.inherit_fds = {{ends[0], 0}};  // a cat that waits for ever
    std::thread other(CancelEveryRun);
    const absl::Status first = RunToCompletion(command, absl::InfiniteDuration()).status();
    other.join();
    return absl::IsCancelled(first) && absl::IsCancelled(RunToCompletion(command, absl::InfiniteDuration()).status());
  };
  EXPECT_EXIT(std::exit(cancelled() ? 7 : 1), testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace sassay
